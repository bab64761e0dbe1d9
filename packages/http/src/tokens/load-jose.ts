// Loads the library for tokens and their keys.
import { lazy } from '@postern/message/lazy'

/** Loads jose with the first token, because it would delay the start. */
export const loadJose = lazy(() => import('jose'))
