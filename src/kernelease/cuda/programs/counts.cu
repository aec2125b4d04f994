// Contingency counts of groups of columns. A block of threads keeps the tables of its groups in shared memory, reads
// tiles of codes, and adds its tables to the whole at the end. Counts are integers: order and number of blocks change
// nothing.
//
// CODE is the type of a code. A group is `width` columns from `members` on, whose table starts at `offset` of the block's
// own; its place of a row is the sum of the columns' cells times `strides`.

struct Group { int first, width, offset, cells; };

extern "C" __global__ void __launch_bounds__(1024, 1)
count_groups(const CODE* __restrict__ codes, const unsigned short* __restrict__ views, const int* __restrict__ view_of,
             const Group* __restrict__ groups, const int* __restrict__ members, const int* __restrict__ strides,
             const int* __restrict__ columns, unsigned long long* __restrict__ totals, long long rows,
             int groups_here, int columns_here, int cells_here, int tile_rows)
{
    extern __shared__ unsigned counts[];
    unsigned short* cells = (unsigned short*)(counts + cells_here);  // (columns_here, tile_rows)
    for (int i = threadIdx.x; i < cells_here; i += blockDim.x) counts[i] = 0;
    for (long long start = (long long)blockIdx.x * tile_rows; start < rows; start += (long long)gridDim.x * tile_rows) {
        int here = (int)min((long long)tile_rows, rows - start);
        __syncthreads();
        for (int c = 0; c < columns_here; ++c) {
            const CODE* column = codes + (long long)columns[c] * rows + start;
            const unsigned short* view = views + view_of[c];
            for (int i = threadIdx.x; i < here; i += blockDim.x) cells[c * tile_rows + i] = view[column[i]];
        }
        __syncthreads();
        for (int g = 0; g < groups_here; ++g) {
            Group group = groups[g];
            for (int i = threadIdx.x; i < here; i += blockDim.x) {
                int place = group.offset;
                for (int m = group.first; m < group.first + group.width; ++m)
                    place += cells[members[m] * tile_rows + i] * strides[m];
                atomicAdd(counts + place, 1u);
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < cells_here; i += blockDim.x)
        if (counts[i]) atomicAdd(totals + i, (unsigned long long)counts[i]);
}
