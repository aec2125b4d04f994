// Sums over rows of round(2^40 * exp(-scale * |x - z|^2)) for every point z, to the bit as kernels/numeric.py and
// kernels/elementary.py compute it: every operation is rounded on its own, in the same order, and none is fused.
//
// COLUMNS, LANES, TILE, PER and THREADS are set at compile time as for fourier.cu, WEIGHTED where each column has a
// lengthscale of its own.

#define CUTOFF 64.0
#define ENTRIES 4097   // of the table of exp(-n/64), scaled by 2^40
#define FLOOR 70368744177664.0     // 2^46: adding it toward minus infinity leaves 64ths of a number up to 64, its index
#define NEAREST 6755399441055744.0 // 1.5 * 2^52: adding it to nearest leaves the nearest integer in the low bits

typedef unsigned long long Word;

__device__ __forceinline__ Word rounded_kernel(double t, const double* table)
{
    t = __double2hiint(t) >= __double2hiint(CUTOFF) ? CUTOFF : t;
    double shifted = __dadd_rd(t, FLOOR);
    int index = __double2loint(shifted);
    double r = __dsub_rn(t, __dsub_rn(shifted, FLOOR));
    double k = 1.0 / 720.0;
    k = __dadd_rn(__dmul_rn(k, r), -1.0 / 120.0);
    k = __dadd_rn(__dmul_rn(k, r), 1.0 / 24.0);
    k = __dadd_rn(__dmul_rn(k, r), -1.0 / 6.0);
    k = __dadd_rn(__dmul_rn(k, r), 1.0 / 2.0);
    k = __dadd_rn(__dmul_rn(k, r), -1.0);
    k = __dadd_rn(__dmul_rn(k, r), 1.0);
    return (Word)__double_as_longlong(__dadd_rn(__dmul_rn(k, table[index]), NEAREST));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gaussian_sums(const double* __restrict__ rows, const double* __restrict__ points, const double* __restrict__ scaled,
              const double* __restrict__ weights, Word* __restrict__ sums, long long count, int centres, int share)
{
    extern __shared__ double table[];
    double* tile = table + ENTRIES;
    for (int i = threadIdx.x; i < ENTRIES; i += THREADS) table[i] = scaled[i];

    const int owners = THREADS / LANES, lane = threadIdx.x / owners, owner = threadIdx.x % owners;
    const int first = blockIdx.x * share * PER + owner;
    const bool works = owner < share;
    double centre[PER][COLUMNS], weight[COLUMNS];
    for (int c = 0; c < COLUMNS; ++c) weight[c] = weights[WEIGHTED ? c : 0];
    for (int p = 0; p < PER; ++p)
        for (int c = 0; c < COLUMNS; ++c) {
            int point = first + p * share;
            centre[p][c] = works && point < centres ? points[(long long)point * COLUMNS + c] : 0.0;
        }
    Word total[PER] = {};
    const Word offset = (Word)__double_as_longlong(NEAREST);
    for (long long start = (long long)blockIdx.y * TILE; start < count; start += (long long)gridDim.y * TILE) {
        int here = (int)min((long long)TILE, count - start);
        __syncthreads();
        for (int i = threadIdx.x; i < here * COLUMNS; i += THREADS) {
            double value = rows[start * COLUMNS + i];
            tile[i] = value != value ? 0.0 : fmin(fmax(value, -1e150), 1e150);
        }
        __syncthreads();
#pragma unroll 2
        for (int row = works ? lane : here; row < here; row += LANES) {
            const double* cells = tile + row * COLUMNS;
#pragma unroll
            for (int p = 0; p < PER; ++p) {
                double t = 0.0;
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    double apart = __dsub_rn(cells[c], centre[p][c]);
                    double square = __dmul_rn(apart, apart);
                    if (WEIGHTED) square = __dmul_rn(square, weight[c]);
                    t = c ? __dadd_rn(t, square) : square;
                }
                if (!WEIGHTED) t = __dmul_rn(t, weight[0]);
                total[p] += rounded_kernel(t, table) - offset;
            }
        }
    }
    for (int p = 0; p < PER; ++p) {
        int point = first + p * share;
        if (works && point < centres) atomicAdd(sums + point, total[p]);
    }
}
