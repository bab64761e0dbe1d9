export { createExpiringMap, createSingleFlight, memoize } from './caches.ts'
export type { RateLimit, ResponseSemaphore } from './limits.ts'
export {
  createByteBudget,
  createKeyedSemaphore,
  createOpenCount,
  createRateLimit,
  createResponseSemaphore,
} from './limits.ts'
