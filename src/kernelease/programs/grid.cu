// Numbers to integers on a declared grid, cell by cell, as features/grid.py does it: the same IEEE operations, none fused.

extern "C" __global__ void to_grid(const double* __restrict__ rows, const double* __restrict__ resolution,
                                   long long* __restrict__ steps, long long cells, int columns, double limit)
{
    long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < cells; i += stride) {
        double value = rows[i];
        value = value != value ? 0.0 : fmin(fmax(value, -1e150), 1e150);
        double step = rint(__ddiv_rn(value, resolution[i % columns]));
        steps[i] = (long long)fmin(fmax(step, -limit), limit);
    }
}
