// Shows an agent's answer in a room, without links to other origins than the agent's.
import type { FinishedAnswer } from '@postern/a2a'
import type { Part, Policy } from '@postern/message'
import { isRequirementKind, parseJsonText, policySchema } from '@postern/message'
import type { ConnectorConfig } from '../config.ts'
import type { OpenRequirements, PendingRequirement, RequirementView } from '../rooms/requirements.ts'
import type { Room, Rooms } from '../rooms/rooms.ts'
import type { OpenTask, OpenTasks } from './open-tasks.ts'

/** The room and entry in which an answer is shown, and the task that it answers. */
interface AnswerLocation {
  readonly room: Room
  readonly entryId: string
  /** The origin of the agent, which is the only one that its links may lead to. */
  readonly origin: string
  readonly task: OpenTask
}

interface ShowAnswerDeps {
  readonly config: Pick<ConnectorConfig, 'loopback'>
  readonly requirements: OpenRequirements
  readonly tasks: OpenTasks
}

/** Shows an answer in its room. The tokens with which a person decides the requirements of the answer stay on the server. */
export function showAnswer(answer: FinishedAnswer, location: AnswerLocation, deps: ShowAnswerDeps): void {
  const { requirements, tasks, config } = deps
  const { room, entryId, task } = location
  const { text, policies } = readAnswer(answer.parts)
  const requirementViews = policies
    .map(policy => openRequirementView(policy, answer, location, requirements))
    .map(requirement => rewriteLink(requirement, config))
  const isWaiting = answer.status === 'input_required' || answer.status === 'auth_required'
  room.updateEntry(entryId, { text, state: 'said', requirements: requirementViews })
  tasks.settle(task, { answer, entryId, isWaiting, isQuestion: isWaiting && requirementViews.length === 0 })
}

/** Returns the view of a policy. If a person can decide the policy here, this also opens its requirement. */
function openRequirementView(
  policy: Policy,
  { taskId }: FinishedAnswer,
  { room, entryId, origin, task: { address, person: decider } }: AnswerLocation,
  openRequirements: OpenRequirements,
): RequirementView {
  const { kind, title, message, action_label: label, state, retry_after_seconds: retryAfterSeconds } = policy
  const isOpen = isRequirementKind(kind) && decider !== undefined && taskId !== undefined
  const url = isOpen ? checkLink(policy, origin) : undefined
  const canBeDecidedHere = isOpen && state !== undefined
  return {
    kind: cleanAnswerText(kind).slice(0, 100),
    message: cleanAnswerText(message).slice(0, 4_000),
    ...(title && { title: cleanAnswerText(title).slice(0, 200) }),
    ...(label && { actionLabel: cleanAnswerText(label).slice(0, 80) }),
    ...(url && { url }),
    ...(kind === 'payment_required' && { price: readPrice(policy) }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(isOpen && { decider }),
    ...(canBeDecidedHere && {
      token: openRequirements.add({ room: room.name, entryId, address, taskId, kind, inReplyToState: state, decider }),
    }),
    status: isOpen ? 'open' : 'told',
  }
}

/** Checks that a policy's link leads to its agent's own host (MN-7.1). */
function checkLink({ url }: Policy, origin: string): string | undefined {
  return url !== undefined && URL.parse(url)?.origin === origin ? url : undefined
}

/** Rewrites a link for the browser, which does not know the names of the hosts if all run on one machine. */
function rewriteLink(requirement: RequirementView, { loopback }: ShowAnswerDeps['config']): RequirementView {
  const url = requirement.url === undefined ? undefined : new URL(requirement.url)
  const port = url && loopback[url.hostname]
  return url && port ? { ...requirement, url: `http://127.0.0.1:${port}${url.pathname}${url.search}` } : requirement
}

function readPrice(policy: Policy): string | undefined {
  const { amount, currency } = policy as { readonly amount?: unknown; readonly currency?: unknown }
  const isPrice = typeof amount === 'string' && typeof currency === 'string'
  return isPrice ? cleanAnswerText(`${amount} ${currency}`).slice(0, 40) : undefined
}

/** Shows the outcome of a requirement in its entry. */
export function settleRequirement(
  { room, entryId, token }: PendingRequirement,
  status: RequirementView['status'],
  rooms: Rooms,
): void {
  changeRequirements(rooms.findRoom(room), entryId, requirement =>
    requirement.token === token ? { ...requirement, status } : requirement,
  )
}

/** Closes the requirements of an entry after a decision elsewhere. */
export function closeRequirements(room: Room, entryId: string | undefined): void {
  changeRequirements(room, entryId, requirement =>
    requirement.status === 'open' ? { ...requirement, status: 'over' } : requirement,
  )
}

function changeRequirements(
  room: Room | undefined,
  entryId = '',
  change: (requirement: RequirementView) => RequirementView,
): void {
  const entry = room?.findEntry(entryId)
  if (entry) room?.updateEntry(entryId, { requirements: entry.requirements.map(change) })
}

/** An agent's answer, as a room can show it. */
interface AnswerContent {
  readonly text: string
  readonly policies: readonly Policy[]
}

/** The longest text that is shown of one answer, in characters. */
const maxTextChars = 16_000
const maxPolicies = 5
/** Matches characters that reverse the reading direction of a line, or are invisible. */
const hiddenCharPattern = /[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/gv

/**
 * Reads an A2A answer. An answer states each policy twice: as data, and as text for clients that do not know the data. `readAnswer` omits
 * that text, because it contains the decision link, and everybody in the room would see it.
 */
export function readAnswer(parts: readonly Part[]): AnswerContent {
  const policies = parts.flatMap(readPolicy).slice(0, maxPolicies)
  const texts = parts.map(part => readPartText(part, policies)).filter(Boolean)
  return { text: texts.join('\n\n').slice(0, maxTextChars), policies }
}

function readPolicy(part: Part): readonly Policy[] {
  if (part.kind !== 'artifact' || part.artifact_type !== 'data' || part.bytes_ref.kind !== 'inline') return []
  const data = parseJsonText(Buffer.from(part.bytes_ref.data_base64, 'base64').toString()) as unknown
  const { kind, policy } = (data ?? {}) as { readonly kind?: unknown; readonly policy?: unknown }
  const parsedPolicy = kind === 'policy' ? policySchema.safeParse(policy) : undefined
  return parsedPolicy?.success ? [parsedPolicy.data] : []
}

function readPartText(part: Part, policies: readonly Policy[]): string {
  if (part.kind === 'text') return policies.reduce(removePolicyText, cleanAnswerText(part.content)).trim()
  if (part.kind === 'file' || part.kind === 'artifact') return part.name ? `[${cleanAnswerText(part.name)}]` : ''
  return ''
}

export function cleanAnswerText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(hiddenCharPattern, '')
}

function removePolicyText(text: string, { title, message, url, action_label: label }: Policy): string {
  const link = url && (label ? `${label}: ${url}` : url)
  const linkText = cleanAnswerText([title, message, link].filter(Boolean).join('\n'))
  const remainingText = text.endsWith(linkText) ? text.slice(0, -linkText.length) : text
  return url ? remainingText.replaceAll(url, '…') : remainingText
}
