// Runs the operations of A2A 1.0, the same for every binding.
import type { Challenger, ScopeTable } from '@postern/http/tokens'
import { checkScope } from '@postern/http/tokens'
import { isJsonObject, Rejection } from '@postern/message'
import type { AdmitResult, Inbound, Intake, SettledTask, Store, TaskKey } from '@postern/pipeline'
import { createIntakeSteps, receive, recordRefusal } from '@postern/pipeline'
import { hasExtendedCard } from '../cards/card.ts'
import type { Call } from '../endpoint/call.ts'
import { listenerKeyOf } from '../endpoint/call.ts'
import { describeOrigin, recordMessageId } from '../endpoint/record-call.ts'
import type { A2aErrorName } from '../format/errors.ts'
import { A2aRejection, refuseField } from '../format/errors.ts'
import type { OperationName, WireMessage } from '../format/wire.ts'
import { convertMessage, convertStream, convertTask } from '../forms/output-conversion.ts'
import { findPersonBehind } from '../message/person-behind.ts'
import { normalizeMessage } from '../normalize.ts'
import { showParts, showTask } from '../render.ts'
import type { ResolvedMessage } from '../resolve.ts'
import { resolveMessage } from '../resolve.ts'
import type { SendMessageParams } from '../validate/params.ts'
import type { A2aOperation, A2aOperationDeps, Operations } from './operation.ts'
import { createPushOperations } from './push-configs.ts'
import { createCancelTask, createGetTask, createListTasks, createSubscribeToTask } from './tasks.ts'

/** The refusals of operations whose capabilities the card does not declare (A2A §3.1, §4.4.3). */
const absentCapabilities = {
  streaming: ['unsupportedOperation', 'streaming'],
  card: ['unsupportedOperation', 'extended agent card'],
  push: ['pushNotificationNotSupported', 'push notifications'],
} as const satisfies Readonly<Record<string, readonly [errorName: A2aErrorName, capability: string]>>

const absentPushOperations = {
  CreateTaskPushNotificationConfig: 'push',
  GetTaskPushNotificationConfig: 'push',
  ListTaskPushNotificationConfigs: 'push',
  DeleteTaskPushNotificationConfig: 'push',
} as const

/** Creates all eleven operations of A2A 1.0 by name, for every binding. */
export function createOperations(deps: A2aOperationDeps): Operations {
  const admit = createAdmitMessage(deps)
  const { streaming, push_notifications } = deps.config.capabilities
  const operationTable: Readonly<Record<OperationName, A2aOperation | keyof typeof absentCapabilities>> = {
    SendMessage: createSendMessage(deps, admit),
    SendStreamingMessage: streaming ? createSendStreamingMessage(deps, admit) : 'streaming',
    GetTask: createGetTask(deps),
    ListTasks: createListTasks(deps),
    CancelTask: createCancelTask(deps),
    SubscribeToTask: streaming ? createSubscribeToTask(deps) : 'streaming',
    ...(push_notifications ? createPushOperations(deps) : absentPushOperations),
    GetExtendedAgentCard: hasExtendedCard(deps.config) ? createGetExtendedCard(deps) : 'card',
  }
  const rows = Object.entries(operationTable).map(([name, entry]) => [name, toOperation(name, entry)] as const)
  return new Map(rows)
}

function toOperation(name: string, entry: A2aOperation | keyof typeof absentCapabilities): A2aOperation {
  if (typeof entry === 'function') return entry
  const [errorName, capability] = absentCapabilities[entry]
  return async () => {
    throw new A2aRejection(errorName, `Cannot ${name}: no ${capability} here`)
  }
}

/** Adds the check of the scope to every operation, so that no binding can omit it. */
export function guardOperations(
  operations: ReadonlyMap<string, A2aOperation>,
  { table: scopeTable, challenger }: { readonly table: ScopeTable; readonly challenger: Challenger },
): ReadonlyMap<string, A2aOperation> {
  const scopes: Readonly<Record<string, string>> = scopeTable
  const guardedOperations = [...operations].map(([name, operation]): [string, A2aOperation] => [
    name,
    async call => {
      const scope = scopes[name]
      checkScope(call.caller, scope === undefined ? [] : [scope], challenger)
      if (setsPushConfig(call)) checkScope(call.caller, [scopeTable.CreateTaskPushNotificationConfig], challenger)
      return operation(call)
    },
  ])
  return new Map(guardedOperations)
}

/** Returns true if a message has a push configuration, which requires the scope of that operation too. */
function setsPushConfig({ params }: Pick<Call, 'params'>): boolean {
  const configuration = isJsonObject(params) ? params.configuration : undefined
  return isJsonObject(configuration) && isJsonObject(configuration.taskPushNotificationConfig)
}

/** Returns the operation with this name. @throws A2aRejection `methodNotFound` */
export function findOperation(name: string, operations: Operations): A2aOperation {
  const operation = operations.get(name)
  if (!operation) throw new A2aRejection('methodNotFound', 'Cannot take request: there is no such method')
  return operation
}

/** Creates SendMessage (A2A §3.1.1), which stores the message, then waits unless the caller wants the task at once. */
function createSendMessage(deps: A2aOperationDeps, admit: AdmitMessage): A2aOperation {
  const { tasks, outputModes } = deps
  return async call => {
    const admittedMessage = await admit(call)
    const record = await findResult(call, admittedMessage, deps)
    if (!record) throw new A2aRejection('taskNotFound', 'Task not found')
    const conversion = outputModes.store(
      admittedMessage.task,
      admittedMessage.params.configuration?.acceptedOutputModes,
    )
    if (isBareMessage(record, admittedMessage))
      return { message: convertMessage(await showBareMessage(record, tasks), conversion) }
    const historyLength = historyLengthOf(admittedMessage)
    return { task: convertTask(await showTask(tasks, record, { historyLength, includeArtifacts: true }), conversion) }
  }
}

/** Returns true if the agent answers with a message only, without a task (A2A §3.1.1). */
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

/** The time that a turn takes in addition to its agent's time, because it is started and its answer is stored, ms. */
const turnOverheadMs = 5_000

/**
 * Returns the result of a call. A blocking call waits until the task is at rest (A2A §3.2.2), at most as long as one turn of the agent may take.
 * It does not wait for a paused agent.
 */
function findResult(
  { agent: { name, deadlineMs = Number.POSITIVE_INFINITY } }: Call,
  admittedMessage: AdmittedMessage,
  { tasks, waiter, config }: A2aOperationDeps,
): Promise<SettledTask | undefined> {
  const { task: key, message, outcome, params } = admittedMessage
  if (params.configuration?.returnImmediately) return tasks.findTask(key)
  const { wait_seconds: waitSeconds } = config.limits
  const waitMs = waitSeconds === undefined ? deadlineMs + turnOverheadMs : waitSeconds * 1000
  return waiter.awaitTask({
    key,
    message,
    mayHaveEnded: outcome === 'duplicate',
    waitMs,
    isPaused: () => tasks.isPaused?.(name) === true,
    needsEntries: historyLengthOf(admittedMessage) > 0,
  })
}

/** A stored message with its parameters. */
interface AdmittedMessage extends AdmitResult {
  /** The person for whom a connector calls. */
  readonly person: string | undefined
  readonly task: TaskKey
  readonly params: SendMessageParams
}

/** The reasons to reject the id of a message, by the outcome of its admission. */
const reuseReasons: Readonly<Partial<Record<AdmitResult['outcome'], string>>> = {
  conflict: 'was used for another message',
  forgotten: 'was used for a message whose task is gone: send what is new under a new id',
}

/** Verifies, normalizes and admits a message. `waitOptions` has the flag `isFollowed` if the caller waits for the answer. @throws A2aRejection, Rejection, Unavailable */
type AdmitMessage = (call: Call, waitOptions?: Pick<Intake, 'isFollowed'>) => Promise<AdmittedMessage>

function createAdmitMessage(deps: A2aOperationDeps): AdmitMessage {
  const { gateway, feeds, expiry } = deps
  const { admission, store, system } = gateway
  const openInbound = (
    sender: { person?: string | undefined },
    waiting: Pick<Intake, 'isFollowed'>,
  ): Inbound<Call, ResolvedMessage> => ({
    name: 'a2a',
    async verify(call, steps) {
      const startedAt = steps.now()
      const resolvedMessage = await resolveMessage(call, deps)
      sender.person = findPersonBehind(call, resolvedMessage.senderEvidence)
      for (const proof of resolvedMessage.senderEvidence.proofs) steps.recordCheck(proof, startedAt)
      steps.recordCheck({ kind: 'resolve', verdict: 'pass' }, startedAt)
      return resolvedMessage
    },
    normalize: resolvedMessage => [
      { ...normalizeMessage(resolvedMessage, gateway.agents.domain), ...waiting, ...readPolling(resolvedMessage) },
    ],
  })
  return async (call, waiting = {}) => {
    const sender: { person?: string | undefined } = {}
    const steps = call.steps ?? createIntakeSteps(system)
    recordMessageId(steps, call.params)
    const origin = describeOrigin({ ...call, steps, request: call.request ?? call })
    const reception = { admission, store, system, steps, ...origin }
    const [admittedMessage] = await receive(openInbound(sender, waiting), call, reception)
    const reuseReason = admittedMessage && reuseReasons[admittedMessage.outcome]
    if (reuseReason !== undefined) {
      const conflict = refuseField('Cannot SendMessage', 'message.messageId', reuseReason)
      recordRefusal(conflict, 'a2a', reception)
      throw conflict
    }
    const task = admittedMessage?.task
    if (!admittedMessage || !task) throw new Error('the store admitted a message without its task')
    const params = call.params as SendMessageParams
    // A new task has no listeners yet.
    if (params.message.taskId) feeds.track(task, admittedMessage.message)
    expiry.countBytes(task.owner, call.bytes.byteLength)
    return { ...admittedMessage, task, params, person: sender.person }
  }
}

/**
 * Returns `isFollowed` for a caller that wants the task at once and polls it. The agent gets such a message only when the task can be polled, because
 * some callers read only the results of polls. For example, CrewAI 1.15.30 continues no conversation whose first task is complete in the response.
 */
function readPolling({ params }: Pick<ResolvedMessage, 'params'>): Pick<Intake, 'isFollowed'> {
  return params.configuration?.returnImmediately ? { isFollowed: true } : {}
}

/** Creates SendStreamingMessage (A2A §3.1.2), which stores the message, then streams the task from its submission until it is at rest. */
function createSendStreamingMessage({ feeds, outputModes }: A2aOperationDeps, admit: AdmitMessage): A2aOperation {
  return async call => {
    const { message, task, params, person } = await admit(call, { isFollowed: true })
    const caller = listenerKeyOf(call)
    const listener =
      person === undefined ? { listenerKey: caller } : { listenerKey: `${caller} ${person}`, connectorKey: caller }
    const { historyLength, acceptedOutputModes } = params.configuration ?? {}
    const stream = feeds.open({
      key: task,
      ...listener,
      endsAt: call.caller.endsAt,
      canReplay: call.canReplay,
      messages: [message],
      isMessageStream: true,
      view: { historyLength: historyLength ?? 0, includeArtifacts: true },
    })
    return convertStream(stream, outputModes.store(task, acceptedOutputModes))
  }
}

/** Creates GetExtendedAgentCard (A2A §3.1.11), for all callers with credentials. */
function createGetExtendedCard({ cards, challenger }: A2aOperationDeps): A2aOperation {
  return async ({ caller, agent }) => {
    if (!caller.isAnonymous) return cards.renderExtended(agent)
    throw challenger.refuse(new Rejection('unsigned', 'Cannot GetExtendedAgentCard: credentials are missing'), 'Bearer')
  }
}
