import { lazy } from '@postern/core/lazy'

export type { JWK } from 'jose'

/** Loaded with the first token, because it would delay the start. */
export const loadJose = lazy(() => import('jose'))
