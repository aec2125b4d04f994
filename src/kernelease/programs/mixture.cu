// The elementwise parts of a mixture's gradient steps. A component's logits, (components, cells), are of all columns' cells
// one after the other; `starts` (columns + 1) says where each column begins. One warp has one column of one component.

#define FULL 0xffffffffu

__device__ __forceinline__ float warp_sum(float value)
{
    for (int offset = 16; offset; offset >>= 1) value += __shfl_xor_sync(FULL, value, offset);
    return value;
}

__device__ __forceinline__ float warp_max(float value)
{
    for (int offset = 16; offset; offset >>= 1) value = fmaxf(value, __shfl_xor_sync(FULL, value, offset));
    return value;
}

// Logits become logarithms of probabilities, in place; q (components, width) gets the probabilities, none below FLOOR.
extern "C" __global__ void normalise(float* __restrict__ logits, float* __restrict__ q, const int* __restrict__ starts,
                                     int components, int columns, int cells, int width)
{
    int job = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (job >= components * columns) return;
    int m = job / columns, first = starts[job % columns], last = starts[job % columns + 1];
    float *own = logits + (size_t)m * cells, *out = q + (size_t)m * width, largest = -1e30f, sum = 0.0f;
    for (int c = first + lane; c < last; c += 32) largest = fmaxf(largest, own[c]);
    largest = warp_max(largest);
    for (int c = first + lane; c < last; c += 32) sum += expf(own[c] - largest);
    sum = warp_sum(sum);
    float log_sum = largest + logf(sum);
    for (int c = first + lane; c < last; c += 32) {
        float value = own[c] - log_sum;
        out[c] = fmaxf(expf(value), FLOOR);
        own[c] = fmaxf(value, LOG_FLOOR);
    }
}

// The slope by q becomes a gradient by logits, and Adam's step is made: slope is (components, width), of which the cells
// beyond `cells` were folded in before. `height` gains the penalty's part.
extern "C" __global__ void descend(float* __restrict__ logits, const float* __restrict__ q, const float* __restrict__ slope,
                                   const float* __restrict__ w, const float* __restrict__ log_prior,
                                   float* __restrict__ height, float* __restrict__ moments, float* __restrict__ squares,
                                   const int* __restrict__ starts, const float* __restrict__ state,
                                   int components, int columns, int cells, int width, float scale)
{
    int job = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (job >= components * columns) return;
    int m = job / columns, first = starts[job % columns], last = starts[job % columns + 1];
    const float kappa = state[0], rate = state[1];
    size_t own = (size_t)m * cells, wide = (size_t)m * width;
    float mean = 0.0f, penalty = 0.0f;
    for (int c = first + lane; c < last; c += 32) {
        float pull = kappa * (logits[own + c] - log_prior[c]);
        penalty += q[wide + c] * pull;
        mean += q[wide + c] * (slope[wide + c] + pull);
    }
    mean = warp_sum(mean), penalty = warp_sum(penalty);
    if (lane == 0) atomicAdd(height + m, penalty);
    for (int c = first + lane; c < last; c += 32) {
        float pull = kappa * (logits[own + c] - log_prior[c]);
        float gradient = scale * w[m] * q[wide + c] * (slope[wide + c] + pull - mean);
        float moment = moments[own + c] = MEMORY * moments[own + c] + (1.0f - MEMORY) * gradient;
        float square = squares[own + c] = MEMORY * squares[own + c] + (1.0f - MEMORY) * gradient * gradient;
        logits[own + c] -= rate * moment / (sqrtf(square) + LEAST);
    }
}

// One block of threads: w from its logits, (components,), none below FLOOR.
extern "C" __global__ void weigh(const float* __restrict__ logits, float* __restrict__ w, int components)
{
    __shared__ float shared[32];
    float largest = -1e30f, sum = 0.0f;
    for (int m = threadIdx.x; m < components; m += blockDim.x) largest = fmaxf(largest, logits[m]);
    largest = warp_max(largest);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = largest;
    __syncthreads();
    largest = warp_max(threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : -1e30f);
    __syncthreads();
    for (int m = threadIdx.x; m < components; m += blockDim.x) sum += expf(logits[m] - largest);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : 0.0f);
    for (int m = threadIdx.x; m < components; m += blockDim.x) w[m] = fmaxf(expf(logits[m] - largest) / sum, FLOOR);
}

// One block of threads, at the end of a step: Adam on the weights' logits; then the penalty follows chi squared, and the
// state (kappa, rate, chi squared, step) is made ready for the next step. `plan` (steps, 3) holds each step's rate, Adam's
// correction included, whether the penalty may fall in it, and its goal.
extern "C" __global__ void conclude(float* __restrict__ logits, const float* __restrict__ w, const float* __restrict__ height,
                                    float* __restrict__ moments, float* __restrict__ squares,
                                    const float* __restrict__ chi_squared, const float* __restrict__ plan,
                                    float* __restrict__ state, int components, float scale, float least, float most)
{
    __shared__ float shared[32];
    float mean = 0.0f;
    for (int m = threadIdx.x; m < components; m += blockDim.x) mean += w[m] * height[m];
    mean = warp_sum(mean);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mean;
    __syncthreads();
    mean = warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : 0.0f);
    for (int m = threadIdx.x; m < components; m += blockDim.x) {
        float gradient = scale * w[m] * (height[m] - mean);
        float moment = moments[m] = MEMORY * moments[m] + (1.0f - MEMORY) * gradient;
        float square = squares[m] = MEMORY * squares[m] + (1.0f - MEMORY) * gradient * gradient;
        logits[m] -= state[1] * moment / (sqrtf(square) + LEAST);
    }
    __syncthreads();
    if (threadIdx.x) return;
    int step = (int)state[3];
    float value = scale * chi_squared[0], error = fminf(MOST_CHANGE, fmaxf(-MOST_CHANGE, plan[3 * step + 2] - value));
    if (plan[3 * step + 1] > 0.0f || error > 0.0f)
        state[0] = fminf(most, fmaxf(least, state[0] * expf(GAIN * error)));
    state[2] = value;
    state[3] = step + 1;
    state[1] = plan[3 * (step + 1)];
}
