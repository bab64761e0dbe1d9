import { lazy } from '@postern/core/lazy'

/** AG-UI's schemas are loaded with the first run. */
export const loadRunInput = lazy(() => import('./read-run-input.ts'))
