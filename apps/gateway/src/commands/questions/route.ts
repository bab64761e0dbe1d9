import { hash } from 'node:crypto'
import type { HumanOperators, OperatorQuestion } from '@postern/agents'
import type { Json, NoticeStore, Page, Platform, PublisherDeps } from '@postern/core'
import { bindLog, createPublisher, isoTime } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import type { RecordStore } from '@postern/transcript'
import { z } from 'zod'
import type { OperationRequest, OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import { containsText, filterPage, isWithin, listFilters, pageOf, pageParameters } from '../../api/page.ts'

const { agent, sender, since, until, text } = listFilters

const askedQuestionSchema = z
  .object({
    id: z.string(),
    agent: z.string(),
    member: z.string().describe('Which of the agents behind this one asks.'),
    from: z.string().describe('Who the agent asks for.'),
    text: z.string(),
    asked_at: z.string().describe('ISO 8601 UTC.'),
    correlation_id: z.string().describe('The word that its lines in the log share.'),
    answer: z.string().optional().describe('The answer, until the agent has taken it.'),
  })
  .meta({ id: 'Question' })

export type AskedQuestion = Readonly<z.infer<typeof askedQuestionSchema>>

const listedQuestionSchema = askedQuestionSchema.extend({ place: z.int().describe('Number of it.') })

export const questionOperations = {
  list: defineOperation({
    id: 'listQuestions',
    method: 'GET',
    path: '/questions',
    summary: 'Lists what agents ask of a human, newest first.',
    task: 'list questions',
    query: z.object({ agent, sender, since, until, text, ...pageParameters }),
    answer: pageOf(listedQuestionSchema.meta({ id: 'ListedQuestion' })),
  }),
  answer: defineOperation({
    id: 'answerQuestion',
    method: 'POST',
    path: '/questions/{id}',
    summary: 'Answers a question.',
    task: 'answer',
    parameters: z.object({ id: z.string() }),
    body: { schema: z.strictObject({ text: z.string().min(1).max(50_000) }) },
    answer: z.object({ id: z.string(), answered: z.literal(true) }),
    refusals: { no_recipient: 'Nobody waits for an answer to this question.' },
  }),
} as const

/** What agents ask of humans, and the humans' answers. */
export function createQuestionRoutes(operators: OperatorQuestionStore): readonly OperatorRoute[] {
  return [
    handleOperation(questionOperations.list, ({ query }) =>
      filterPage(
        query,
        page => operators.listPage(page),
        ({ place, question }) => (question && isAskedFor(question, query) ? { ...question, place } : undefined),
      ),
    ),
    handleOperation(questionOperations.answer, async ({ parameters: { id }, body: { text } }) => {
      requireFound(await operators.answer(id, text), 'Cannot answer: nobody waits for an answer to this question')
      return { id, answered: true as const }
    }),
  ]
}

type QuestionFilter = OperationRequest<typeof questionOperations.list>['query']

function isAskedFor({ agent, from, asked_at, text }: AskedQuestion, filter: QuestionFilter): boolean {
  return (
    (filter.agent === undefined || agent === filter.agent) &&
    containsText(from, filter.sender) &&
    containsText(text, filter.text) &&
    isWithin(Date.parse(asked_at), filter)
  )
}

/** What agents ask of humans, and what these say. */
export interface OperatorQuestionStore extends HumanOperators {
  /** What waits for an answer, newest first. */
  list(): Promise<readonly AskedQuestion[]>
  /** The same, page by page. A record that is no question has none. */
  listPage(page: Page): Promise<readonly { readonly place: number; readonly question: AskedQuestion | undefined }[]>
}

interface OperatorQuestionDeps {
  readonly records: RecordStore & Pick<GatewayStore['records'], 'listPage'>
  readonly store: NoticeStore
  readonly platform: Pick<Platform, 'now' | 'sleep' | 'log'>
  /** Host of the agents' addresses. */
  readonly domain: string
  /** Where agents speak of themselves; opened after them. */
  openPublishers(): PublisherDeps
}

const [kind, owner] = ['operator-question', 'operator']
/** Whose process died asks no more, ms. */
const longestMs = 24 * 3_600_000
/** A notice is a hint that may be lost: the record is looked at this often, ms. */
const lookMs = 2_000

const mostListed = 200

const placeOf = (key: string) => ({ kind, owner, key })

/** Questions lie on the record store while somebody waits: whichever process is told the answer, the one that waits finds it. */
export function createOperatorQuestions(deps: OperatorQuestionDeps): OperatorQuestionStore {
  const { records, store } = deps
  return {
    ask: asked => askOperator(asked, deps),
    async answer(id, text) {
      const found = await findQuestion(id, records)
      if (!found || found.question.answer !== undefined) return false
      const isFirst = await records.swap(placeOf(id), found.version, { ...found.question, answer: text } as Json)
      if (isFirst) store.notify(topicOf(id), { kind: 'answered' })
      return isFirst
    },
    async list() {
      const found = await records.list(kind, owner, { limit: mostListed })
      return found.flatMap(({ value }) => askedQuestionSchema.safeParse(value).data ?? [])
    },
    async listPage(page) {
      const found = await records.listPage(kind, owner, page)
      return found.map(({ place, value }) => ({ place, question: askedQuestionSchema.safeParse(value).data }))
    },
  }
}

async function findQuestion(id: string, records: RecordStore) {
  const record = await records.get(placeOf(id))
  const question = askedQuestionSchema.safeParse(record?.value).data
  return record && question ? { question, version: record.version } : undefined
}

/** Puts the question where operators find it, and waits for the answer. */
async function askOperator(asked: OperatorQuestion, deps: OperatorQuestionDeps): Promise<string> {
  const { records, platform } = deps
  const { agent, member, from, text, correlationId, signal } = asked
  const id = nameQuestion(asked)
  const asked_at = isoTime(platform.now())
  const question = { id, agent, member, from, text, asked_at, correlation_id: correlationId }
  const keep = () => records.insert(placeOf(id), question as Json, { until: platform.now() + longestMs })
  const isNew = await keep()
  platform.log.info({ correlation_id: correlationId, agent, question: id }, 'an operator is asked')
  if (isNew && asked.mail !== undefined) void mailQuestion(id, asked, deps)
  return awaitAnswer({ id, keep, signal }, deps)
}

interface AwaitedQuestion {
  readonly id: string
  /** Puts it there again if somebody else, who waited for the same, has taken it away. */
  keep(): Promise<boolean>
  readonly signal: AbortSignal
}

async function awaitAnswer(
  { id, keep, signal }: AwaitedQuestion,
  { records, store, platform }: OperatorQuestionDeps,
): Promise<string> {
  const unlisten = store.listen(topicOf(id), () => wake.abort())
  let wake = new AbortController()
  try {
    for (;;) {
      signal.throwIfAborted()
      const found = await findQuestion(id, records)
      if (found?.question.answer !== undefined) return found.question.answer
      if (!found) await keep()
      await platform.sleep(lookMs, AbortSignal.any([wake.signal, signal]))
      if (wake.signal.aborted) wake = new AbortController()
    }
  } finally {
    unlisten()
    await records.remove(placeOf(id))
  }
}

/** The same for a turn that is taken up again: what was answered meanwhile counts. Nobody guesses it who has not the turn's own id. */
function nameQuestion({ agent, member, text, correlationId }: OperatorQuestion): string {
  return hash('sha256', JSON.stringify([correlationId, agent, member, text])).slice(0, 16)
}

function topicOf(id: string): string {
  return `operator:${id}`
}

/** Where it cannot be sent it still stands in the list. */
async function mailQuestion(
  id: string,
  { agent, member, from, text, mail, signal, correlationId }: OperatorQuestion,
  { platform, domain, openPublishers }: OperatorQuestionDeps,
): Promise<void> {
  const log = bindLog(platform.log, { correlation_id: correlationId, agent })
  try {
    const acting = { agent, address: `@${agent}@${domain}` }
    const gateway = openPublishers()
    const via = gateway.channels.find(({ descriptor }) => descriptor.speaker.isMailbox)?.descriptor.name
    if (via === undefined) throw new Error('no channel sends mail')
    const publisher = createPublisher({ acting, gateway, signal, log })
    const asked = `${from} asks ${member}:\n\n${text}\n\nAnswer this mail, soon: somebody is waiting. (question ${id})`
    const options = { mentions: [`@${mail}`], subject: `${from} asks ${member}`, via }
    await publisher.post([{ kind: 'text', mime: 'text/plain', content: asked }], options)
  } catch (error) {
    if (!signal.aborted)
      log.warn({ err: error }, 'a question could not be mailed to its operator; is the address in "write_to"?')
  }
}
