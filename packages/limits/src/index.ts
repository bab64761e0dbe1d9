export type { RateLimit, ResponseSemaphore } from './limits.ts'
export {
  createByteBudget,
  createExpiringMap,
  createKeyedSemaphore,
  createOpenCount,
  createRateLimit,
  createResponseSemaphore,
  createSingleFlight,
  memoize,
} from './limits.ts'
