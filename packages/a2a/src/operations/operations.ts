import type { Admitted, Inbound, SettledTask, Store, TaskKey } from '@postern/core'
import { createIntakeSteps, isJsonObject, Rejection, receive, recordRefusal } from '@postern/core'
import type { Challenger, ScopeTable } from '@postern/http/tokens'
import { checkScope } from '@postern/http/tokens'
import { hasExtendedCard } from '../cards/card.ts'
import type { Call } from '../endpoint/call.ts'
import { claimMessage, listenerKeyOf, placeOf } from '../endpoint/call.ts'
import type { FaultName } from '../format/errors.ts'
import { A2aRejection, refuseField } from '../format/errors.ts'
import type { OperationName, SendMessageParams, WireMessage } from '../format/wire.ts'
import { normalizeMessage } from '../normalize.ts'
import { showParts, showTask } from '../render.ts'
import type { ResolvedMessage } from '../resolve.ts'
import { resolveMessage } from '../resolve.ts'
import type { A2aOperation, A2aOperationDeps, Operations } from './operation.ts'
import { createPushOperations } from './push-configs.ts'
import { createCancelTask, createGetTask, createListTasks, createSubscribeToTask } from './tasks.ts'

/** The refusals of operations whose capabilities the card does not declare (A2A §3.1, §4.4.3). */
const absent = {
  streaming: ['unsupportedOperation', 'streaming'],
  card: ['unsupportedOperation', 'extended agent card'],
  push: ['pushNotificationNotSupported', 'push notifications'],
} as const satisfies Readonly<Record<string, readonly [fault: FaultName, what: string]>>

const pushAbsent = {
  CreateTaskPushNotificationConfig: 'push',
  GetTaskPushNotificationConfig: 'push',
  ListTaskPushNotificationConfigs: 'push',
  DeleteTaskPushNotificationConfig: 'push',
} as const

/** All eleven operations of A2A 1.0 by name, for every binding. */
export function createOperations(deps: A2aOperationDeps): Operations {
  const admit = createAdmitMessage(deps)
  const { streaming, push_notifications } = deps.config.capabilities
  const table: Readonly<Record<OperationName, A2aOperation | keyof typeof absent>> = {
    SendMessage: createSendMessage(deps, admit),
    SendStreamingMessage: streaming ? createSendStreamingMessage(deps, admit) : 'streaming',
    GetTask: createGetTask(deps),
    ListTasks: createListTasks(deps),
    CancelTask: createCancelTask(deps),
    SubscribeToTask: streaming ? createSubscribeToTask(deps) : 'streaming',
    ...(push_notifications ? createPushOperations(deps) : pushAbsent),
    GetExtendedAgentCard: hasExtendedCard(deps.config) ? createGetExtendedCard(deps) : 'card',
  }
  const rows = Object.entries(table).map(([name, entry]) => [name, toOperation(name, entry)] as const)
  return new Map(rows)
}

function toOperation(name: string, entry: A2aOperation | keyof typeof absent): A2aOperation {
  if (typeof entry === 'function') return entry
  const [fault, what] = absent[entry]
  return async () => {
    throw new A2aRejection(fault, `Cannot ${name}: no ${what} here`)
  }
}

/** Checks the scope before every operation, so that no binding can forget it. */
export function guardOperations(
  operations: ReadonlyMap<string, A2aOperation>,
  { table, challenger }: { readonly table: ScopeTable; readonly challenger: Challenger },
): ReadonlyMap<string, A2aOperation> {
  const scopes: Readonly<Record<string, string>> = table
  const guarded = [...operations].map(([name, operation]): [string, A2aOperation] => [
    name,
    async call => {
      const scope = scopes[name]
      checkScope(call.caller, scope === undefined ? [] : [scope], challenger)
      if (setsPushConfig(call)) checkScope(call.caller, [table.CreateTaskPushNotificationConfig], challenger)
      return operation(call)
    },
  ])
  return new Map(guarded)
}

/** A message with a push configuration needs the scope of that operation, too. */
function setsPushConfig({ params }: Pick<Call, 'params'>): boolean {
  const configuration = isJsonObject(params) ? params.configuration : undefined
  return isJsonObject(configuration) && isJsonObject(configuration.taskPushNotificationConfig)
}

/** @throws A2aRejection `methodNotFound` */
export function findOperation(name: string, operations: Operations): A2aOperation {
  const operation = operations.get(name)
  if (!operation) throw new A2aRejection('methodNotFound', 'Cannot take request: there is no such method')
  return operation
}

/** SendMessage (A2A §3.1.1): admits the message durably, then waits unless the caller wants the task at once. */
function createSendMessage(deps: A2aOperationDeps, admit: AdmitMessage): A2aOperation {
  const { tasks } = deps
  return async call => {
    const admitted = await admit(call)
    const record = await findResult(admitted, deps)
    if (!record) throw new A2aRejection('taskNotFound', 'Task not found')
    if (isBareMessage(record, admitted)) return { message: await showBareMessage(record, tasks) }
    const historyLength = historyLengthOf(admitted)
    return { task: await showTask(tasks, record, { historyLength, includeArtifacts: true }) }
  }
}

/** The agent wants a message as the only answer, without a task (A2A §3.1.1). */
function isBareMessage({ state, response }: SettledTask, { params }: AdmittedMessage): boolean {
  return response?.as === 'message' && state === 'completed' && response.in_reply_to === params.message.messageId
}

async function showBareMessage(
  { context, response }: SettledTask,
  store: Pick<Store, 'findBlob'>,
): Promise<WireMessage> {
  const parts = await showParts(store, response?.parts ?? [])
  return { messageId: response?.id ?? '', role: 'ROLE_AGENT', contextId: context, parts }
}

function historyLengthOf({ params }: AdmittedMessage): number {
  return params.configuration?.historyLength ?? 0
}

function findResult(
  admitted: AdmittedMessage,
  { tasks, waiter, config }: A2aOperationDeps,
): Promise<SettledTask | undefined> {
  const { task: key, message, outcome, params } = admitted
  if (params.configuration?.returnImmediately) return tasks.findTask(key)
  const waitMs = config.limits.wait_seconds * 1000
  return waiter.awaitTask({
    key,
    message,
    mayBeOver: outcome === 'duplicate',
    waitMs,
    needsEntries: historyLengthOf(admitted) > 0,
  })
}

/** A durable message, and how much of the answer its sender wants. */
interface AdmittedMessage extends Admitted {
  readonly task: TaskKey
  readonly params: SendMessageParams
}

/** verify → normalize → admit. @throws A2aRejection, Rejection, Unavailable */
type AdmitMessage = (call: Call) => Promise<AdmittedMessage>

function createAdmitMessage(deps: A2aOperationDeps): AdmitMessage {
  const { gateway, feeds, expiry } = deps
  const { admission, store, platform } = gateway
  const inbound: Inbound<Call, ResolvedMessage> = {
    name: 'a2a',
    async verify(call, steps) {
      const since = steps.now()
      const resolved = await resolveMessage(call, deps)
      for (const proof of resolved.senderEvidence.proofs) steps.note(proof, since)
      steps.note({ kind: 'resolve', verdict: 'pass' }, since)
      return resolved
    },
    normalize: proven => [normalizeMessage(proven, gateway.agents.domain)],
  }
  return async call => {
    const steps = call.steps ?? createIntakeSteps(platform)
    claimMessage(steps, call.params)
    const place = placeOf({ ...call, steps, request: call.request ?? call })
    const reception = { admission, store, platform, steps, ...place }
    const [admitted] = await receive(inbound, call, reception)
    const task = admitted?.task
    if (!admitted || !task) throw new Error('the store admitted a message without its task')
    if (admitted.outcome === 'conflict') {
      const conflict = refuseField('Cannot SendMessage', 'message.messageId', 'was used for another message')
      recordRefusal(conflict, 'a2a', reception)
      throw conflict
    }
    const params = call.params as SendMessageParams
    // Nobody listens to a new task yet.
    if (params.message.taskId) feeds.track(task, admitted.message)
    expiry.note(task.owner, call.bytes.byteLength)
    return { ...admitted, task, params }
  }
}

/** SendStreamingMessage (A2A §3.1.2): admits the message durably, then streams the task from its submission until it is at rest. */
function createSendStreamingMessage({ feeds }: A2aOperationDeps, admit: AdmitMessage): A2aOperation {
  return async call => {
    const { message, task, params } = await admit(call)
    return feeds.open({
      key: task,
      listenerKey: listenerKeyOf(call),
      canReplay: call.canReplay,
      messages: [message],
      isOwn: true,
      view: { historyLength: params.configuration?.historyLength ?? 0, includeArtifacts: true },
    })
  }
}

/** GetExtendedAgentCard (A2A §3.1.11), for all callers with credentials. */
function createGetExtendedCard({ cards, challenger }: A2aOperationDeps): A2aOperation {
  return async ({ caller, agent }) => {
    if (!caller.isAnonymous) return cards.renderExtended(agent)
    throw challenger.refuse(new Rejection('unsigned', 'Cannot GetExtendedAgentCard: credentials are missing'), 'Bearer')
  }
}
