import type { RemoteActors } from '../peers/actor-cache.ts'
import type { IsBlocked } from '../peers/blocklist.ts'
import type { FindKeyOwner } from './key-owner.ts'

export interface VerifyFetchDeps {
  readonly actors: RemoteActors
  readonly findKeyOwner: FindKeyOwner
  readonly isBlocked: IsBlocked
  readonly origin: string
  readonly windowMs: number
  now(): number
}
