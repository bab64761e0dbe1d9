import type { FinishedAnswer } from '@postern/a2a'
import type { Policy } from '@postern/core'
import { isRequirementKind } from '@postern/core'
import type { ConnectorConfig } from '../config.ts'
import type { HeldRequirement, OpenRequirements, ShownRequirement } from '../rooms/requirements.ts'
import type { Room, Rooms } from '../rooms/rooms.ts'
import { cleanAnswerText, readAnswer } from './read-answer.ts'
import type { TaskSeat, TaskSeats } from './task-book.ts'

/** Where an answer is shown, and what it answers. */
interface AnswerPlace {
  readonly room: Room
  readonly entryId: string
  /** Of the agent: only there its links may lead. */
  readonly origin: string
  readonly seat: TaskSeat
}

interface ShowingDeps {
  readonly config: Pick<ConnectorConfig, 'loopback'>
  readonly requirements: OpenRequirements
  readonly tasks: TaskSeats
}

/** A whole answer, in the room; what decides its policies stays in the book. */
export function showAnswer(answer: FinishedAnswer, place: AnswerPlace, deps: ShowingDeps): void {
  const { requirements, tasks, config } = deps
  const { room, entryId, seat } = place
  const { text, policies } = readAnswer(answer.parts)
  const shown = policies
    .map(policy => showPolicy(policy, answer, place, requirements))
    .map(requirement => withLocalLink(requirement, config))
  const isWaiting = answer.status === 'input_required' || answer.status === 'auth_required'
  room.change(entryId, { text, state: 'said', requirements: shown })
  tasks.settle(seat, { answer, entryId, isWaiting, isQuestion: isWaiting && shown.length === 0 })
}

function showPolicy(
  policy: Policy,
  { taskId }: FinishedAnswer,
  { room, entryId, origin, seat: { address, person: asked } }: AnswerPlace,
  book: OpenRequirements,
): ShownRequirement {
  const { kind, title, message, action_label: label, state, retry_after_seconds: wait } = policy
  const isOpen = isRequirementKind(kind) && asked !== undefined && taskId !== undefined
  const url = isOpen ? checkLink(policy, origin) : undefined
  const isOurs = isOpen && state !== undefined
  return {
    kind: cleanAnswerText(kind).slice(0, 100),
    message: cleanAnswerText(message).slice(0, 4_000),
    ...(title && { title: cleanAnswerText(title).slice(0, 200) }),
    ...(label && { actionLabel: cleanAnswerText(label).slice(0, 80) }),
    ...(url && { url }),
    ...(kind === 'payment_required' && { price: readPrice(policy) }),
    ...(wait !== undefined && { retryAfterSeconds: wait }),
    ...(isOpen && { asked }),
    ...(isOurs && { token: book.hold({ room: room.name, entryId, address, taskId, kind, state, asked }) }),
    status: isOpen ? 'open' : 'told',
  }
}

/** A policy's link leads to its agent's own host, or nowhere (MN-7.1). */
function checkLink({ url }: Policy, origin: string): string | undefined {
  return url !== undefined && URL.parse(url)?.origin === origin ? url : undefined
}

/** On one machine the names of the hosts are not the browser's. */
function withLocalLink(requirement: ShownRequirement, { loopback }: ShowingDeps['config']): ShownRequirement {
  const url = requirement.url === undefined ? undefined : new URL(requirement.url)
  const port = url && loopback[url.hostname]
  return url && port ? { ...requirement, url: `http://127.0.0.1:${port}${url.pathname}${url.search}` } : requirement
}

function readPrice(policy: Policy): string | undefined {
  const { amount, currency } = policy as { readonly amount?: unknown; readonly currency?: unknown }
  const isPrice = typeof amount === 'string' && typeof currency === 'string'
  return isPrice ? cleanAnswerText(`${amount} ${currency}`).slice(0, 40) : undefined
}

/** What has become of a requirement, where it is shown. */
export function settleRequirement(
  { room, entryId, token }: HeldRequirement,
  status: ShownRequirement['status'],
  rooms: Rooms,
): void {
  const entry = rooms.find(room)?.find(entryId)
  const settled = entry?.requirements.map(requirement =>
    requirement.token === token ? { ...requirement, status } : requirement,
  )
  if (settled) rooms.find(room)?.change(entryId, { requirements: settled })
}

/** It was decided elsewhere: nothing in this entry waits any more. */
export function closeRequirements(room: Room, entryId: string | undefined): void {
  const entry = entryId === undefined ? undefined : room.find(entryId)
  if (!entry) return
  const closed = entry.requirements.map(requirement =>
    requirement.status === 'open' ? { ...requirement, status: 'over' as const } : requirement,
  )
  room.change(entry.id, { requirements: closed })
}
