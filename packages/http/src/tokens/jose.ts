export type { JWK } from 'jose'

let loading: Promise<typeof import('jose')> | undefined

/** Loaded with the first token, because it would delay the start. */
export function loadJose(): Promise<typeof import('jose')> {
  loading ??= import('jose')
  return loading
}
