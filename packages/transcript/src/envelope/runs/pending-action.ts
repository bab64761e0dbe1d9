// Stores tool actions that wait for approval. Each action is decided once and runs at most once.
import { isoTime, type Json, Rejection, randomHex, type System } from '@postern/message'
import { z } from 'zod'
import { jsonMapSchema, jsonSchema } from '../../json/schema.ts'
import type { RecordKey, RecordStore, RecordTies } from '../../store/record-store.ts'

const actionStatuses = ['pending', 'accepted', 'rejected', 'expired', 'deleted'] as const
const actionDecisions = ['accepted', 'rejected'] as const

/** A tool's action that needs approval. Every status except `pending` is final. */
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
  /** The party that decided. It is stored with the action. */
  readonly resolver: string
  readonly metadata?: Record<string, Json> | undefined
  /** Returns true if the resolver may decide. It is checked at the moment of the decision. */
  mayResolve(action: PendingAction): Promise<boolean> | boolean
  /** Runs an accepted action once. It is never called for a rejected one. */
  apply(action: PendingAction): Promise<Json>
}

export interface PendingActions {
  /** Creates an action. If an action with this `action_id` exists, the function returns that action. */
  create(owner: string, action: NewAction, ties?: RecordTies): Promise<PendingAction>
  /** Finds an action. Its status is `expired` after its time. */
  get(owner: string, id: string): Promise<PendingAction | undefined>
  /** Lists actions, newest first. */
  list(owner: string, status?: ActionStatus): Promise<readonly PendingAction[]>
  /** Counts the actions of each status. */
  summarize(owner: string): Promise<Readonly<Record<ActionStatus, number>>>
  /**
   * Decides an action. If two parties decide at once, one of them succeeds, and the tool runs at most once, even after a crash. @throws Rejection
   * forbidden if there is no such action, the resolver may not decide it, or it is already decided (`replayed`)
   */
  resolve(owner: string, id: string, resolution: Resolution): Promise<PendingAction>
  /** Expires an action immediately. Returns `undefined` if it is no longer pending. */
  expireNow(owner: string, id: string): Promise<PendingAction | undefined>
  /** Expires all overdue actions and returns their ids. */
  expire(owner: string): Promise<readonly string[]>
  /** Removes a pending action from the lists. Its row stays for the audit. Returns false if there is none. */
  remove(owner: string, id: string, resolver: string): Promise<boolean>
}

const recordKind = 'pending-action'

interface ActionDeps {
  readonly records: RecordStore
  readonly system: Pick<System, 'now' | 'randomBytes'>
}

export function createPendingActions(records: RecordStore, system: ActionDeps['system']): PendingActions {
  const deps: ActionDeps = { records, system }
  return {
    create: (owner, action, ties) => createAction(owner, action, deps, ties),
    get: (owner, id) => getAction(owner, id, deps),
    async list(owner, status) {
      const actions = await listActions(owner, deps)
      return actions.filter(action => (status === undefined ? action.status !== 'deleted' : action.status === status))
    },
    async summarize(owner) {
      const counts = { pending: 0, accepted: 0, rejected: 0, expired: 0, deleted: 0 }
      for (const { status } of await listActions(owner, deps)) counts[status] += 1
      return counts
    },
    resolve: (owner, id, resolution) => resolveAction(owner, id, resolution, deps),
    expireNow: (owner, id) => settle(owner, id, { status: 'expired' }, deps),
    async expire(owner) {
      const expiredActions = (await records.list(recordKind, owner))
        .map(({ value }) => pendingActionSchema.parse(value))
        .filter(action => isOverdue(action, deps))
      const expiredResults = await Promise.all(
        expiredActions.map(({ action_id }) => settle(owner, action_id, { status: 'expired' }, deps)),
      )
      return expiredResults.filter(action => action !== undefined).map(({ action_id }) => action_id)
    },
    async remove(owner, id, resolver) {
      return (await settle(owner, id, { status: 'deleted', resolver }, deps)) !== undefined
    },
  }
}

async function createAction(
  owner: string,
  newAction: NewAction,
  deps: ActionDeps,
  ties?: RecordTies,
): Promise<PendingAction> {
  const { records, system } = deps
  const action: PendingAction = {
    preview: null,
    metadata: {},
    ...newAction,
    action_id: newAction.action_id ?? randomHex(system, 16),
    status: 'pending',
    created_at: isoTime(system.now()),
    resolution_result: null,
    resolution_metadata: {},
  }
  const isNew = await records.insert(keyOf(owner, action.action_id), action, ties)
  return isNew ? action : ((await findStoredAction(owner, action.action_id, deps))?.action ?? action)
}

async function getAction(owner: string, id: string, deps: ActionDeps): Promise<PendingAction | undefined> {
  const storedAction = await findStoredAction(owner, id, deps)
  if (!storedAction || !isOverdue(storedAction.action, deps)) return storedAction?.action
  return (await settle(owner, id, { status: 'expired' }, deps)) ?? (await findStoredAction(owner, id, deps))?.action
}

async function listActions(owner: string, deps: ActionDeps): Promise<readonly PendingAction[]> {
  const records = await deps.records.list(recordKind, owner)
  const actions = await Promise.all(records.map(({ key }) => getAction(owner, key, deps)))
  return actions.filter(action => action !== undefined)
}

async function resolveAction(
  owner: string,
  id: string,
  resolution: Resolution,
  deps: ActionDeps,
): Promise<PendingAction> {
  const action = await getAction(owner, id, deps)
  if (!action || !(await resolution.mayResolve(action))) {
    throw new Rejection('forbidden', 'Cannot resolve action: no such action for this resolver')
  }
  const { decision: status, resolver, metadata: resolution_metadata = {} } = resolution
  const settledAction = await settle(owner, id, { status, resolver, resolution_metadata }, deps)
  if (!settledAction) throw new Rejection('replayed', 'Cannot resolve action: it is decided already')
  return status === 'accepted' ? await applyAction(owner, settledAction, resolution, deps) : settledAction
}

async function applyAction(
  owner: string,
  action: PendingAction,
  { apply }: Resolution,
  deps: ActionDeps,
): Promise<PendingAction> {
  const outcome = await apply(action).then(
    result => ({ resolution_result: result }),
    () => ({ resolution_error: 'the tool failed' }),
  )
  const endedAction = { ...action, ...outcome }
  // If the owner's data was deleted in the meantime, the record is gone and is not created again.
  const storedAction = await findStoredAction(owner, action.action_id, deps)
  if (storedAction) await deps.records.swap(keyOf(owner, action.action_id), storedAction.version, endedAction)
  return endedAction
}

/** Moves a pending action to its final status. Returns `undefined` if another writer was first. */
async function settle(
  owner: string,
  id: string,
  change: Partial<PendingAction>,
  deps: ActionDeps,
): Promise<PendingAction | undefined> {
  const storedAction = await findStoredAction(owner, id, deps)
  if (storedAction?.action.status !== 'pending') return undefined
  const settledAction = { ...storedAction.action, resolved_at: isoTime(deps.system.now()), ...change }
  return (await deps.records.swap(keyOf(owner, id), storedAction.version, settledAction)) ? settledAction : undefined
}

async function findStoredAction(owner: string, id: string, { records }: ActionDeps) {
  const record = await records.get(keyOf(owner, id))
  const action = pendingActionSchema.safeParse(record?.value).data
  return record && action ? { action, version: record.version } : undefined
}

function isOverdue({ status, expires_at }: PendingAction, { system }: ActionDeps): boolean {
  return status === 'pending' && expires_at !== undefined && Date.parse(expires_at) <= system.now()
}

function keyOf(owner: string, key: string): RecordKey {
  return { kind: recordKind, owner, key }
}
