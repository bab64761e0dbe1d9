// Derives states of requirements, which links to a decision contain, from the requirement's id and a secret of the gateway.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { RequirementDeps, RequirementRecord, Store } from '@postern/pipeline'

interface StateOptions {
  readonly store: Pick<Store, 'openSecret' | 'findRequirement'>
  readonly origin: string
  readonly ttlMs: number
}

interface StateRequirement {
  /** The requirement. Undefined if the state names none. */
  readonly requirement?: RequirementRecord | undefined
  /** False if the state is forged, or if the secret that signed it was replaced or revoked. */
  readonly isValid: boolean
}

/** Finds the requirement that a state names. */
export type FindByState = (state: string) => Promise<StateRequirement>

interface RequirementStates extends RequirementDeps {
  readonly findByState: FindByState
}

/**
 * Opens the states of requirements. A state is derived from an id with a key of the gateway. So no stored answer, history or log contains a state,
 * and every retry of a delivery shows the same state. A state begins with the id, so a link with a newer key names the same requirement.
 */
export async function openRequirementStates({ store, origin, ttlMs }: StateOptions): Promise<RequirementStates> {
  const secret = await store.openSecret('requirements')
  const statesOf = (keys: readonly string[], id: string) => keys.flatMap(key => [formatState(key, id), signId(key, id)])
  const digestOf = (state: string) => createHash('sha256').update(state).digest('hex')

  async function findRequirementOf(state: string): Promise<RequirementRecord | undefined> {
    const requirementByDigest = await store.findRequirement({ digest: digestOf(state) })
    return (
      requirementByDigest ??
      store.findRequirement({ id: Buffer.from(state, 'base64url').subarray(0, idBytes).toString('hex') })
    )
  }

  return {
    origin,
    ttlMs,
    digestOf,
    stateOf: (id, digest) =>
      statesOf(digest === undefined ? [] : secret.listAll(), id).find(state => digestOf(state) === digest) ??
      formatState(secret.list()[0] ?? '', id),
    async findByState(state) {
      if (!statePattern.test(state)) return { isValid: false }
      const requirement = await findRequirementOf(state)
      const stateBytes = Buffer.from(state)
      const validStates = requirement ? statesOf(secret.list(), requirement.id) : []
      return {
        requirement,
        isValid: validStates.some(validState => timingSafeEqual(Buffer.from(validState), stateBytes)),
      }
    },
  }
}

const idBytes = 16

/** Formats a state: the id, and the same number of bytes of a signature. */
function formatState(key: string, id: string): string {
  const signature = Buffer.from(signId(key, `v2 ${id}`), 'base64url').subarray(0, idBytes)
  return Buffer.concat([Buffer.from(id, 'hex'), signature]).toString('base64url')
}

/** Signs an id in the form of earlier releases. */
function signId(key: string, id: string): string {
  return createHmac('sha256', Buffer.from(key, 'base64url')).update(`postern requirement v1 ${id}`).digest('base64url')
}

/** Matches every state. */
const statePattern = /^[\w-]{43}$/
