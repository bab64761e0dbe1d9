import { isoTime, type Json, type Platform, Rejection, randomHex } from '@postern/core'
import { z } from 'zod'
import { jsonMapSchema, jsonSchema } from '../../json/schema.ts'
import type { RecordStore, RecordTies } from '../../store/record-store.ts'

const actionStatuses = ['pending', 'accepted', 'rejected', 'expired', 'deleted'] as const
const actionDecisions = ['accepted', 'rejected'] as const

/** What a tool wants to do and somebody has to allow first. Every status but `pending` is final. */
export const pendingActionSchema = z.object({
  action_id: z.string(),
  kind: z.string(),
  summary: z.string(),
  preview: jsonSchema,
  apply_input: jsonMapSchema,
  workspace: z.string().optional(),
  agent: z.string().optional(),
  creator: z.string().optional(),
  status: z.enum(actionStatuses),
  created_at: z.string(),
  expires_at: z.string().optional(),
  resolved_at: z.string().optional(),
  resolver: z.string().optional(),
  resolution_result: jsonSchema.nullable(),
  resolution_error: z.string().optional(),
  resolution_metadata: jsonMapSchema,
  metadata: jsonMapSchema,
})

export type PendingAction = z.infer<typeof pendingActionSchema>
type ActionStatus = (typeof actionStatuses)[number]
type ActionDecision = (typeof actionDecisions)[number]

type NewAction = Pick<PendingAction, 'kind' | 'summary' | 'apply_input'> &
  Partial<Pick<PendingAction, 'action_id' | 'preview' | 'workspace' | 'agent' | 'creator' | 'expires_at' | 'metadata'>>

interface Resolution {
  readonly decision: ActionDecision
  /** Who decided; kept with the action. */
  readonly resolver: string
  readonly metadata?: Record<string, Json> | undefined
  /** Asked again at the moment of the decision. */
  mayResolve(action: PendingAction): Promise<boolean> | boolean
  /** Does what was allowed; called once for an accepted action, never for another. */
  apply(action: PendingAction): Promise<Json>
}

export interface PendingActions {
  /** Of an `action_id` that is given there is one: whoever comes later gets that. */
  create(owner: string, action: NewAction, ties?: RecordTies): Promise<PendingAction>
  /** An action whose time is over is `expired` from then on. */
  get(owner: string, id: string): Promise<PendingAction | undefined>
  /** Newest first. */
  list(owner: string, status?: ActionStatus): Promise<readonly PendingAction[]>
  /** How many there are of each status. */
  summarize(owner: string): Promise<Readonly<Record<ActionStatus, number>>>
  /**
   * One of two deciders at once decides, and the tool runs at most once, even after a crash.
   * @throws Rejection forbidden when there is no such action, the resolver may not, or it is decided already (`replayed`)
   */
  resolve(owner: string, id: string, resolution: Resolution): Promise<PendingAction>
  /** Its time is over, whatever it says itself: `undefined` when it is no longer pending. */
  lapse(owner: string, id: string): Promise<PendingAction | undefined>
  /** Ends what is over; the ids of what it ended. */
  expire(owner: string): Promise<readonly string[]>
  /** Takes it from the lists; the row stays for the audit. False when there is none that is pending. */
  remove(owner: string, id: string, resolver: string): Promise<boolean>
}

const recordKind = 'pending-action'

export function createPendingActions(
  records: RecordStore,
  platform: Pick<Platform, 'now' | 'randomBytes'>,
): PendingActions {
  const placeOf = (owner: string, key: string) => ({ kind: recordKind, owner, key })

  async function load(owner: string, id: string) {
    const record = await records.get(placeOf(owner, id))
    const action = pendingActionSchema.safeParse(record?.value).data
    return record && action ? { action, version: record.version } : undefined
  }

  /** Moves a pending action to its final status: `undefined` when another was first. */
  async function settle(owner: string, id: string, change: Partial<PendingAction>): Promise<PendingAction | undefined> {
    const found = await load(owner, id)
    if (found?.action.status !== 'pending') return undefined
    const settled = { ...found.action, resolved_at: isoTime(platform.now()), ...change }
    return (await records.swap(placeOf(owner, id), found.version, settled)) ? settled : undefined
  }

  function isOver({ status, expires_at }: PendingAction): boolean {
    return status === 'pending' && expires_at !== undefined && Date.parse(expires_at) <= platform.now()
  }

  async function get(owner: string, id: string): Promise<PendingAction | undefined> {
    const found = await load(owner, id)
    if (!found || !isOver(found.action)) return found?.action
    return (await settle(owner, id, { status: 'expired' })) ?? (await load(owner, id))?.action
  }

  async function listAll(owner: string): Promise<readonly PendingAction[]> {
    const found = await records.list(recordKind, owner)
    const actions = await Promise.all(found.map(({ key }) => get(owner, key)))
    return actions.filter(action => action !== undefined)
  }

  async function run(owner: string, action: PendingAction, { apply }: Resolution): Promise<PendingAction> {
    const outcome = await apply(action).then(
      result => ({ resolution_result: result }),
      () => ({ resolution_error: 'the tool failed' }),
    )
    const ended = { ...action, ...outcome }
    // Who was forgotten meanwhile stays it.
    const found = await load(owner, action.action_id)
    if (found) await records.swap(placeOf(owner, action.action_id), found.version, ended)
    return ended
  }

  return {
    async create(owner, wanted, ties) {
      const action: PendingAction = {
        preview: null,
        metadata: {},
        ...wanted,
        action_id: wanted.action_id ?? randomHex(platform, 16),
        status: 'pending',
        created_at: isoTime(platform.now()),
        resolution_result: null,
        resolution_metadata: {},
      }
      const isNew = await records.insert(placeOf(owner, action.action_id), action, ties)
      return isNew ? action : ((await load(owner, action.action_id))?.action ?? action)
    },
    get,
    async list(owner, status) {
      const actions = await listAll(owner)
      return actions.filter(action => (status === undefined ? action.status !== 'deleted' : action.status === status))
    },
    async summarize(owner) {
      const counts = { pending: 0, accepted: 0, rejected: 0, expired: 0, deleted: 0 }
      for (const { status } of await listAll(owner)) counts[status] += 1
      return counts
    },
    async resolve(owner, id, resolution) {
      const action = await get(owner, id)
      if (!action || !(await resolution.mayResolve(action))) {
        throw new Rejection('forbidden', 'Cannot resolve action: no such action for this resolver')
      }
      const { decision: status, resolver, metadata: resolution_metadata = {} } = resolution
      const settled = await settle(owner, id, { status, resolver, resolution_metadata })
      if (!settled) throw new Rejection('replayed', 'Cannot resolve action: it is decided already')
      return status === 'accepted' ? await run(owner, settled, resolution) : settled
    },
    lapse: (owner, id) => settle(owner, id, { status: 'expired' }),
    async expire(owner) {
      const over = (await records.list(recordKind, owner))
        .map(({ value }) => pendingActionSchema.parse(value))
        .filter(isOver)
      const ended = await Promise.all(over.map(({ action_id }) => settle(owner, action_id, { status: 'expired' })))
      return ended.filter(action => action !== undefined).map(({ action_id }) => action_id)
    },
    async remove(owner, id, resolver) {
      return (await settle(owner, id, { status: 'deleted', resolver })) !== undefined
    },
  }
}
