// Sums of cosines and sines over rows, as features/fourier.py computes them: phases are 64-bit integers that wrap once a
// turn, the circle is a table of integers, and sums of integers do not depend on their order.
//
// COLUMNS (of a row), THREADS (of a block), LANES (threads that share a frequency, each with its own rows) and TILE
// (rows read together) are set at compile time. A thread holds PER frequencies: a row is read once for all of them. Each
// block has `share` threads that do so; the warps that are left over stay idle.

#define QUARTER 16384      // angles in a quarter turn; the table holds the first quarter
#define ROWS_PER_SUM 4096  // so many entries of at most 2^18 fit a signed 32-bit sum

typedef unsigned long long Phase;

__device__ __forceinline__ void turn(Phase phase, const int2* circle, int& cosine, int& sine)
{
    unsigned angle = (unsigned)(phase >> 48);
    int2 first = circle[angle & (QUARTER - 1)];
    bool odd = angle & QUARTER;
    int x = odd ? first.y : first.x, y = odd ? first.x : first.y;
    int flip_y = -(int)(angle >> 15), flip_x = flip_y ^ -(int)odd;  // -1 where the sign changes
    cosine += (x ^ flip_x) - flip_x;
    sine += (y ^ flip_y) - flip_y;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
fourier_sums(const long long* __restrict__ steps, const Phase* __restrict__ turns, const int2* __restrict__ quarter,
             Phase* __restrict__ sums, long long rows, int frequencies, int share)
{
    extern __shared__ int2 circle[];
    Phase* tile = (Phase*)(circle + QUARTER);  // TILE rows of COLUMNS
    for (int i = threadIdx.x; i < QUARTER; i += THREADS) circle[i] = quarter[i];

    const int owners = THREADS / LANES, lane = threadIdx.x / owners, owner = threadIdx.x % owners;
    const int first = blockIdx.x * share * PER + owner;
    const bool works = owner < share;
    Phase turn_of[PER][COLUMNS];
    for (int p = 0; p < PER; ++p)
        for (int c = 0; c < COLUMNS; ++c) {
            int frequency = first + p * share;
            turn_of[p][c] = works && frequency < frequencies ? turns[(long long)frequency * COLUMNS + c] : 0;
        }
    long long cosines[PER] = {}, sines[PER] = {};
    int part_cosine[PER] = {}, part_sine[PER] = {}, added = 0;
    for (long long start = (long long)blockIdx.y * TILE; start < rows; start += (long long)gridDim.y * TILE) {
        int here = (int)min((long long)TILE, rows - start);
        __syncthreads();
        for (int i = threadIdx.x; i < here * COLUMNS; i += THREADS) tile[i] = (Phase)steps[start * COLUMNS + i];
        __syncthreads();
#pragma unroll 2
        for (int row = works ? lane : here; row < here; row += LANES) {
            const Phase* cells = tile + row * COLUMNS;
#pragma unroll
            for (int p = 0; p < PER; ++p) {
                Phase phase = 1ULL << 47;  // half an angle: rounds to the nearest
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c) phase += turn_of[p][c] * cells[c];
                turn(phase, circle, part_cosine[p], part_sine[p]);
            }
        }
        added += TILE / LANES;
        if (added > ROWS_PER_SUM - TILE / LANES) {
            for (int p = 0; p < PER; ++p) {
                cosines[p] += part_cosine[p], sines[p] += part_sine[p];
                part_cosine[p] = part_sine[p] = 0;
            }
            added = 0;
        }
    }
    for (int p = 0; p < PER; ++p) {
        int frequency = first + p * share;
        if (works && frequency < frequencies) {
            atomicAdd(sums + frequency, (Phase)(cosines[p] + part_cosine[p]));
            atomicAdd(sums + frequencies + frequency, (Phase)(sines[p] + part_sine[p]));
        }
    }
}
