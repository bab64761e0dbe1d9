export type {
  ByteBudgetOptions,
  KeyedSemaphore,
  RateLimit,
  RateLimitOptions,
  ResponseSemaphore,
  SemaphoreOptions,
} from './limits.ts'
export {
  createByteBudget,
  createKeyedSemaphore,
  createOpenCount,
  createRateLimit,
  createResponseSemaphore,
} from './limits.ts'
