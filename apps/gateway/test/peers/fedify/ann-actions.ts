// Performs the actions of the test account `ann` on its Fedify server.
import { randomUUID } from 'node:crypto'
import type { Activity, Actor } from '@fedify/vocab'
import { Create, isActor, Mention, Note, PUBLIC_COLLECTION } from '@fedify/vocab'
import type { MessageRecord } from '@postern/pipeline'
import type { CapturedRequest } from '../captured.ts'
import { waitUntil } from '../eventually.ts'
import { ourHost } from '../names.ts'
import type { OurGateway } from '../our-gateway.ts'
import type { ExamStep } from '../run-steps.ts'
import type { FedifyServer } from './server.ts'
import { ann } from './server.ts'

/** Both servers, and the requests between them. */
export interface FedifyExam {
  readonly fedify: FedifyServer
  readonly gateway: OurGateway
  readonly capturedRequests: readonly CapturedRequest[]
}

export type FedifyStep = ExamStep<FedifyExam>

/** Looks up the agent by its address, with Fedify. */
export async function findAgent({ fedify }: FedifyExam): Promise<Actor> {
  const actor = await fedify.context.lookupObject(`@echo@${ourHost}`)
  if (!isActor(actor)) throw new Error(`Fedify finds no actor, but ${actor}`)
  return actor
}

/** Delivers an activity to the agent's inbox. Fedify throws at every status except 2xx. */
export async function deliver(exam: FedifyExam, activity: Activity): Promise<void> {
  await exam.fedify.context.sendActivity({ identifier: ann }, await findAgent(exam), activity)
}

/** Returns an id for a new object of ann's. */
export const newId = ({ fedify }: FedifyExam, kind: string) => new URL(`${fedify.actor}/${kind}/${randomUUID()}`)

interface NoteOptions {
  readonly replyTo?: URL | null
  readonly isPrivate?: boolean
}

/** Makes ann mention the agent in a note. Everybody who may read the note can fetch it. */
export async function mentionAgent(
  exam: FedifyExam,
  content: string,
  { replyTo = null, isPrivate = false }: NoteOptions = {},
): Promise<Note> {
  const { fedify } = exam
  const agent = await findAgent(exam)
  const id = newId(exam, 'notes')
  const audience = isPrivate ? { to: agent.id } : { to: PUBLIC_COLLECTION, cc: agent.id }
  const note = new Note({
    id,
    attribution: fedify.actor,
    content: `<p><a href="${agent.id}" class="u-url mention">@echo</a> ${content}</p>`,
    tags: [new Mention({ href: agent.id, name: `@echo@${ourHost}` })],
    replyTarget: replyTo,
    published: Temporal.Now.instant(),
    ...audience,
  })
  fedify.notes.set(id.pathname.split('/').at(-1) ?? '', note)
  await deliver(exam, new Create({ id: new URL('#create', id), actor: fedify.actor, object: note, ...audience }))
  return note
}

/** Waits for the agent's reply to a note. Fedify has already checked the signature of the reply. */
export function awaitReply({ fedify }: FedifyExam, { id }: Note): Promise<Note> {
  return waitUntil('the answer has come', async () => {
    for (const activity of fedify.received.filter(activity => activity instanceof Create)) {
      const object = await activity.getObject(fedify.context)
      if (object instanceof Note && object.replyTargetId?.href === id?.href) return object
    }
    return undefined
  })
}

export async function mentionAgentAndAwaitAnswer(
  exam: FedifyExam,
  content: string,
  options?: NoteOptions,
): Promise<Note> {
  return awaitReply(exam, await mentionAgent(exam, content, options))
}

/** Waits for an activity of a kind, and returns the latest. */
export function awaitActivity<Kind extends Activity>(
  { fedify }: FedifyExam,
  kind: abstract new (...values: never[]) => Kind,
): Promise<Kind> {
  return waitUntil(`${kind.name} has come`, () =>
    fedify.received.findLast((activity): activity is Kind => activity instanceof kind),
  )
}

/** Waits for the operator's record of ann's note or activity. */
export function awaitRecord({ gateway }: FedifyExam, id: URL | null): Promise<MessageRecord> {
  return waitUntil('the operator sees the message', async () =>
    (await gateway.messages()).find(({ message }) => id && message.id.startsWith(id.href)),
  )
}
