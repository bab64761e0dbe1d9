// Checks a message and finds the task and the context that it belongs to.
import { networkOf } from '@postern/http'
import type { AgentChain } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { ChannelContext, TaskIntake, TaskWatch } from '@postern/pipeline'
import type { A2aConfig } from './config.ts'
import type { Call } from './endpoint/call.ts'
import { A2aRejection, refuseField } from './format/errors.ts'
import { mediaTypeOf } from './format/part-content.ts'
import type { WireMessage, WirePart } from './format/wire.ts'
import type { CallingTurnMember } from './message/called-by.ts'
import { readCalledBy } from './message/called-by.ts'
import type { CheckedClaim, MessagePhase, SenderEvidence } from './message/mentionable.ts'
import { clampChain, noSenderEvidence, readPhase, readPolicyClaim, readSenderEvidence } from './message/mentionable.ts'
import { findPersonBehind, sharedOwnerFactor } from './message/person-behind.ts'
import { createPushConfig } from './push/watch.ts'
import { findOwnTask } from './tasks/own-tasks.ts'
import { createTaskId } from './tasks/task-id.ts'
import type { PushConfig, SendMessageParams } from './validate/params.ts'
import { checkParams } from './validate/params.ts'

declare const resolvedBrand: unique symbol

/** A checked message with its task, which is the caller's own. Only `resolveMessage` creates it. */
export interface ResolvedMessage {
  readonly [resolvedBrand]: true
  readonly call: Call
  readonly params: SendMessageParams
  readonly task: Omit<TaskIntake, 'owner'>
  readonly chain: AgentChain | undefined
  readonly phase: MessagePhase | undefined
  readonly calledBy: CallingTurnMember | undefined
  readonly senderEvidence: SenderEvidence
  readonly claim: CheckedClaim | undefined
  /** The time of receipt, in ms since the epoch. */
  readonly receivedAt: number
}

interface ResolveMessageDeps {
  readonly config: A2aConfig
  readonly gateway: Pick<ChannelContext, 'system' | 'store' | 'identity' | 'agents' | 'requirementClaims'>
}

/** The findings about a stored message from its arrival. A replay uses them and does not check again. */
interface StoredFindings {
  readonly task: TaskIds
  readonly evidence?: SenderEvidence | undefined
  readonly resolution?: CheckedClaim['resolution'] | undefined
}

/** Checks that the message is complete, that this agent may accept it, and that the task is the caller's. @throws A2aRejection, Rejection */
export async function resolveMessage(
  call: Call,
  { config, gateway }: ResolveMessageDeps,
  findings?: StoredFindings,
): Promise<ResolvedMessage> {
  const params = checkParams('SendMessage', call.params) as SendMessageParams
  const { message, configuration } = params
  const pushConfig = configuration?.taskPushNotificationConfig ?? undefined
  if (pushConfig && !config.capabilities.push_notifications) {
    throw new A2aRejection('pushNotificationNotSupported', 'Cannot SendMessage: push notifications are not supported')
  }
  checkInputModes(message.parts, config.input_modes)
  checkOutputModes(configuration?.acceptedOutputModes ?? [], config.output_modes)
  const mentionable = isJsonObject(message.metadata?.mentionable) ? message.metadata.mentionable : undefined
  const chain = mentionable && clampChain(mentionable, config.limits.max_hops)
  const phase = mentionable && readPhase(mentionable)
  const calledBy = mentionable && (await readCalledBy(mentionable, call, gateway))
  const task = findings?.task ?? (await resolveTask(message, call, gateway))
  const watch = pushConfig && (await resolveWatch(pushConfig, task.id, call, gateway))
  const senderEvidence =
    findings?.evidence ??
    (mentionable ? await readSenderEvidence(mentionable, message.messageId, call, gateway) : noSenderEvidence)
  const claim = findings?.resolution
    ? { resolution: findings.resolution }
    : mentionable &&
      (await readPolicyClaim(mentionable, call, { ...gateway, acceptedEvidence: senderEvidence.accepted }))
  return {
    call,
    params,
    task: {
      ...task,
      ...describeShare(call, senderEvidence, config.limits.open_tasks_per_caller),
      ...(watch && { watch }),
    },
    chain,
    phase,
    calledBy,
    senderEvidence,
    claim,
    receivedAt: gateway.system.now(),
  } as ResolvedMessage
}

/**
 * Returns the limit of open tasks. Callers without credentials share one owner, and so do the people who use one connector. Each of them has a
 * separate limit within the limit of the owner.
 */
function describeShare(
  call: Call,
  evidence: SenderEvidence,
  maxTasks: number,
): Pick<TaskIntake, 'maxOpenTasks' | 'share'> {
  const name = call.caller.isAnonymous ? networkOf(call.from) : findPersonBehind(call, evidence)
  return name === undefined
    ? { maxOpenTasks: maxTasks }
    : { maxOpenTasks: maxTasks * sharedOwnerFactor, share: { name, maxOpenTasks: maxTasks } }
}

type TaskIds = Pick<TaskIntake, 'id' | 'context'>

/** Creates the subscription in a message. A task has a limited number of them. */
function resolveWatch(
  pushConfig: PushConfig,
  id: string,
  { caller, version }: Call,
  gateway: ResolveMessageDeps['gateway'],
): Promise<TaskWatch> {
  const fields = { task: 'message.taskId', url: 'configuration.taskPushNotificationConfig.url' }
  return createPushConfig(pushConfig, { key: { owner: caller.owner, id }, version, fields }, gateway)
}

/**
 * Finds the task of a message or creates one. A new task without a context creates a context with the same id, so that both ids name the same
 * thread.
 */
function resolveTask(
  message: WireMessage,
  call: Call,
  { store, system }: ResolveMessageDeps['gateway'],
): TaskIds | Promise<TaskIds> {
  if (message.taskId) return continueTask(message, call, store)
  const id = createTaskId(system)
  if (!message.contextId) return { id, context: id }
  const task = { id, context: message.contextId }
  return call.caller.isAnonymous ? joinContext(task, call, store) : task
}

/**
 * Finds the task that the message continues. Only the store decides whether the task has ended, because it recognizes retries, and its decision is
 * atomic with the admission.
 */
async function continueTask(message: WireMessage, call: Call, store: ChannelContext['store']): Promise<TaskIds> {
  const { id, context } = await findOwnTask(message.taskId ?? '', call, store)
  if (message.contextId && message.contextId !== context) throw refuseContext('is not the context of this task')
  return { id, context }
}

/** Allows a caller without credentials to continue a context whose id they know. The gateway creates the ids, and callers cannot choose one. */
async function joinContext(task: TaskIds, { caller, agent }: Call, store: ChannelContext['store']): Promise<TaskIds> {
  const filter = { owner: caller.owner, agent: agent.name, context: task.context, limit: 1 }
  const { tasks } = await store.listTasks(filter)
  if (tasks.length === 0) throw refuseContext('is not known')
  return task
}

function refuseContext(description: string): A2aRejection {
  return refuseField('Cannot SendMessage', 'message.contextId', description)
}

/** Checks that every part has a media type that the card declares. @throws A2aRejection `contentTypeNotSupported` */
function checkInputModes(parts: readonly WirePart[], declaredModes: readonly string[]): void {
  const index = parts.findIndex(part => !isAcceptedType(mediaTypeOf(part), declaredModes))
  if (index < 0) return
  const violations = [{ field: `message.parts[${index}].mediaType`, description: 'is not an input mode of this agent' }]
  const message = `Cannot SendMessage: message.parts[${index}] has a media type that this agent does not accept`
  throw new A2aRejection('contentTypeNotSupported', message, { violations })
}

/** Returns true if a media type is declared. A type with the suffix of JSON is JSON (RFC 6839 §3.1). */
function isAcceptedType(type: string, declaredModes: readonly string[]): boolean {
  return declaredModes.includes(type) || (type.endsWith('+json') && declaredModes.includes('application/json'))
}

/** Checks that the client accepts one of our output modes. A client that names none accepts all. @throws A2aRejection `contentTypeNotSupported` */
function checkOutputModes(acceptedModes: readonly string[], declaredModes: readonly string[]): void {
  if (acceptedModes.length === 0 || acceptedModes.some(mode => isOffered(mode, declaredModes))) return
  const description = 'names none of the output modes of this agent'
  const violations = [{ field: 'configuration.acceptedOutputModes', description }]
  throw new A2aRejection('contentTypeNotSupported', `Cannot SendMessage: acceptedOutputModes ${description}`, {
    violations,
  })
}

function isOffered(mode: string, declaredModes: readonly string[]): boolean {
  const [type = ''] = mode.toLowerCase().split(';')
  // Older clients write `text` for every text type.
  const acceptedType = /^\s*\w+\s*$/.test(type) ? `${type.trim()}/*` : type.trim()
  if (acceptedType === '*/*') return true
  return acceptedType.endsWith('/*')
    ? declaredModes.some(declaredMode => declaredMode.startsWith(acceptedType.slice(0, -1)))
    : declaredModes.includes(acceptedType)
}
