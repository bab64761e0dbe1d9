import type { AgentChain, ChannelContext, TaskIntake, TaskWatch } from '@postern/core'
import { isJsonObject } from '@postern/core'
import { networkOf } from '@postern/http'
import type { A2aConfig } from './config.ts'
import type { Call } from './endpoint/call.ts'
import { A2aRejection, refuseField } from './format/errors.ts'
import type { SendMessageParams, WireMessage, WirePart, WirePushConfig } from './format/wire.ts'
import type { CheckedClaim, Phase, SenderEvidence } from './message/mentionable.ts'
import { clampChain, noSenderEvidence, readPhase, readPolicyClaim, readSenderEvidence } from './message/mentionable.ts'
import { createWatch } from './push/watch.ts'
import { makeTaskId } from './tasks/lifetime.ts'
import { findOwnTask } from './tasks/own-tasks.ts'
import { checkParams, mediaTypeOf } from './validate/params.ts'

declare const proven: unique symbol

/** A checked message with its task, which is the caller's own. Only `resolveMessage` makes one. */
export interface ResolvedMessage {
  readonly [proven]: true
  readonly call: Call
  readonly params: SendMessageParams
  readonly task: Omit<TaskIntake, 'owner'>
  readonly chain: AgentChain | undefined
  readonly phase: Phase | undefined
  readonly senderEvidence: SenderEvidence
  readonly claim: CheckedClaim | undefined
  /** ms */
  readonly receivedAt: number
}

interface ResolveMessageDeps {
  readonly config: A2aConfig
  readonly gateway: Pick<ChannelContext, 'platform' | 'store' | 'identity' | 'agents' | 'requirementClaims'>
}

/** What was found out of a stored message when it came, and is not found out once more. */
interface KeptFindings {
  readonly task: TaskIds
  readonly evidence?: SenderEvidence | undefined
  readonly resolution?: CheckedClaim['resolution'] | undefined
}

/** Checks that the message is complete, that this agent may take it, and that the task is the caller's. @throws A2aRejection, Rejection */
export async function resolveMessage(
  call: Call,
  { config, gateway }: ResolveMessageDeps,
  kept?: KeptFindings,
): Promise<ResolvedMessage> {
  checkParams('SendMessage', call.params)
  const params = call.params as SendMessageParams
  const { message, configuration } = params
  const push = configuration?.taskPushNotificationConfig ?? undefined
  if (push && !config.capabilities.push_notifications) {
    throw new A2aRejection('pushNotificationNotSupported', 'Cannot SendMessage: push notifications are not supported')
  }
  checkInputModes(message.parts, config.input_modes)
  checkOutputModes(configuration?.acceptedOutputModes ?? [], config.output_modes)
  const mentionable = isJsonObject(message.metadata?.mentionable) ? message.metadata.mentionable : undefined
  const chain = mentionable && clampChain(mentionable, config.limits.max_hops)
  const phase = mentionable && readPhase(mentionable)
  const task = kept?.task ?? (await resolveTask(message, call, gateway))
  const watch = push && (await resolveWatch(push, task.id, call, gateway))
  const senderEvidence =
    kept?.evidence ??
    (mentionable ? await readSenderEvidence(mentionable, message.messageId, call, gateway) : noSenderEvidence)
  const claim = kept?.resolution
    ? { resolution: kept.resolution }
    : mentionable && (await readPolicyClaim(mentionable, call, { ...gateway, accepted: senderEvidence.accepted }))
  return {
    call,
    params,
    task: { ...task, ...shareOf(call, config.limits.open_tasks_per_caller), ...(watch && { watch }) },
    chain,
    phase,
    senderEvidence,
    claim,
    receivedAt: gateway.platform.now(),
  } as ResolvedMessage
}

/** Callers without credentials may together have as many open tasks as this number of callers. */
const anonymousCallers = 10

/** Callers without credentials share one owner. Their networks tell them apart. */
function shareOf({ caller, from }: Call, most: number): Pick<TaskIntake, 'most' | 'share'> {
  return caller.isAnonymous ? { most: most * anonymousCallers, share: { name: networkOf(from), most } } : { most }
}

type TaskIds = Pick<TaskIntake, 'id' | 'context'>

/** Who is to be told of the task; of one that others watch already only so many. */
function resolveWatch(
  push: WirePushConfig,
  id: string,
  { caller, version }: Call,
  gateway: ResolveMessageDeps['gateway'],
): Promise<TaskWatch> {
  const fields = { task: 'message.taskId', url: 'configuration.taskPushNotificationConfig.url' }
  return createWatch(push, { key: { owner: caller.owner, id }, version, fields }, gateway)
}

/** A new task without a context opens one, and both go by one id: the thread is then the same by either name. */
function resolveTask(
  message: WireMessage,
  call: Call,
  { store, platform }: ResolveMessageDeps['gateway'],
): TaskIds | Promise<TaskIds> {
  if (message.taskId) return continueTask(message, call, store)
  const id = makeTaskId(platform)
  if (!message.contextId) return { id, context: id }
  const task = { id, context: message.contextId }
  return call.caller.isAnonymous ? joinContext(task, call, store) : task
}

/** Whether the task has ended is for the store to say: it knows a retry, and no answer can come in between. */
async function continueTask(message: WireMessage, call: Call, store: ChannelContext['store']): Promise<TaskIds> {
  const { id, context } = await findOwnTask(message.taskId ?? '', call, store)
  if (message.contextId && message.contextId !== context) throw refuseContext('is not the context of this task')
  return { id, context }
}

/** Whoever proves nothing may go on with a context by knowing its id, which we made; they cannot choose one. */
async function joinContext(task: TaskIds, { caller, agent }: Call, store: ChannelContext['store']): Promise<TaskIds> {
  const filter = { owner: caller.owner, agent: agent.name, context: task.context, limit: 1 }
  const { tasks } = await store.listTasks(filter)
  if (tasks.length === 0) throw refuseContext('is not known')
  return task
}

function refuseContext(description: string): A2aRejection {
  return refuseField('Cannot SendMessage', 'message.contextId', description)
}

/**
 * Every part must be of a media type the card declares.
 * @throws A2aRejection `contentTypeNotSupported`
 */
function checkInputModes(parts: readonly WirePart[], declared: readonly string[]): void {
  const at = parts.findIndex(part => !declared.includes(mediaTypeOf(part)))
  if (at < 0) return
  const violations = [{ field: `message.parts[${at}].mediaType`, description: 'is not an input mode of this agent' }]
  const message = `Cannot SendMessage: message.parts[${at}] is of a media type this agent does not take`
  throw new A2aRejection('contentTypeNotSupported', message, { violations })
}

/** The client must accept one of our output modes; without any it accepts all. @throws A2aRejection `contentTypeNotSupported` */
function checkOutputModes(accepted: readonly string[], declared: readonly string[]): void {
  if (accepted.length === 0 || accepted.some(mode => isOffered(mode, declared))) return
  const description = 'names none of the output modes of this agent'
  const violations = [{ field: 'configuration.acceptedOutputModes', description }]
  throw new A2aRejection('contentTypeNotSupported', `Cannot SendMessage: acceptedOutputModes ${description}`, {
    violations,
  })
}

function isOffered(mode: string, declared: readonly string[]): boolean {
  const [type = ''] = mode.toLowerCase().split(';')
  // Older clients write `text` for every text type.
  const wanted = /^\s*\w+\s*$/.test(type) ? `${type.trim()}/*` : type.trim()
  if (wanted === '*/*') return true
  return wanted.endsWith('/*') ? declared.some(own => own.startsWith(wanted.slice(0, -1))) : declared.includes(wanted)
}
