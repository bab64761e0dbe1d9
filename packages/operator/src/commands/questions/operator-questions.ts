// Stores questions of agents to operators, mails them, and wakes the waiting agent with the answer.
import { hash } from 'node:crypto'
import type { Json, System } from '@postern/message'
import { bindLog, isActRefusal, isoTime } from '@postern/message'
import type { HumanOperators, NoticeStore, OperatorQuestion, Page, PublisherDeps } from '@postern/pipeline'
import { createPublisher } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import type { RecordStore } from '@postern/transcript'
import { z } from 'zod'

export const askedQuestionSchema = z
  .object({
    id: z.string(),
    agent: z.string(),
    member: z.string().describe('The member of the agent that asks.'),
    from: z.string().describe('The person for whom the agent asks.'),
    text: z.string(),
    asked_at: z.string().describe('ISO 8601 UTC.'),
    correlation_id: z.string().describe('The word that the lines of this question in the log share.'),
    answer: z.string().optional().describe('The answer, until the agent has taken it.'),
  })
  .meta({ id: 'Question' })

export type AskedQuestion = Readonly<z.infer<typeof askedQuestionSchema>>

/** The questions of agents to operators, and the answers. */
export interface OperatorQuestionStore extends HumanOperators {
  /** Lists the questions that wait for an answer, newest first. */
  list(): Promise<readonly AskedQuestion[]>
  /** Lists the same questions page by page. `question` is undefined for a record that cannot be read. */
  listPage(page: Page): Promise<readonly { readonly number: number; readonly question: AskedQuestion | undefined }[]>
}

interface OperatorQuestionDeps {
  readonly store: NoticeStore & {
    /** The records for agents. */
    readonly records: RecordStore
    /** The same records for operators, whose queries do not delay agents. */
    readonly forOperators: { readonly records: Pick<GatewayStore['records'], 'get' | 'swap' | 'list' | 'listPage'> }
  }
  readonly system: Pick<System, 'now' | 'sleep' | 'log'>
  /** The host of the agents’ addresses. */
  readonly domain: string
  /** Opens the functions with which agents post. They open after the agents. */
  openPublishers(): PublisherDeps
}

const [kind, owner] = ['operator-question', 'operator']

/** The age at which a question of a process that died is deleted, ms. */
const maxAgeMs = 24 * 3_600_000

/** The interval at which the waiting process polls the record, ms, because notices may be lost. */
const pollMs = 2_000

const maxListedQuestions = 200

const recordKeyOf = (key: string) => ({ kind, owner, key })

/** Creates the questions. They are stored as records while an agent waits, so that the waiting process finds an answer that another one received. */
export function createOperatorQuestions(deps: OperatorQuestionDeps): OperatorQuestionStore {
  const { store } = deps
  const { records } = store.forOperators
  return {
    ask: question => askOperator(question, deps),
    async answer(id, text) {
      const pendingQuestion = await findQuestion(id, records)
      if (!pendingQuestion || pendingQuestion.question.answer !== undefined) return false
      const isStored = await records.swap(recordKeyOf(id), pendingQuestion.version, {
        ...pendingQuestion.question,
        answer: text,
      } as Json)
      if (isStored) store.notify(topicOf(id), { kind: 'answered' })
      return isStored
    },
    async list() {
      const listedRecords = await records.list(kind, owner, { limit: maxListedQuestions })
      return listedRecords.flatMap(({ value }) => askedQuestionSchema.safeParse(value).data ?? [])
    },
    async listPage(page) {
      const listedPage = await records.listPage(kind, owner, page)
      return listedPage.map(({ number, value }) => ({ number, question: askedQuestionSchema.safeParse(value).data }))
    },
  }
}

async function findQuestion(id: string, records: Pick<RecordStore, 'get'>) {
  const record = await records.get(recordKeyOf(id))
  const question = askedQuestionSchema.safeParse(record?.value).data
  return record && question ? { question, version: record.version } : undefined
}

/** Stores the question for operators, and waits for the answer. */
async function askOperator(operatorQuestion: OperatorQuestion, deps: OperatorQuestionDeps): Promise<string> {
  const { store, system } = deps
  const { records } = store
  const { agent, member, from, text, correlationId, signal } = operatorQuestion
  const id = nameQuestion(operatorQuestion)
  const asked_at = isoTime(system.now())
  const question = { id, agent, member, from, text, asked_at, correlation_id: correlationId }
  const storeQuestion = () => records.insert(recordKeyOf(id), question as Json, { expiresAt: system.now() + maxAgeMs })
  const isNew = await storeQuestion()
  system.log.info({ correlation_id: correlationId, agent, question: id }, 'an agent asks an operator')
  if (isNew && operatorQuestion.mail !== undefined) void mailQuestion(id, operatorQuestion, deps)
  return awaitAnswer({ id, storeQuestion, signal }, deps)
}

interface AwaitedQuestion {
  readonly id: string
  /** Stores the question again if another waiting process has removed it. Returns false if it is already stored. */
  storeQuestion(): Promise<boolean>
  readonly signal: AbortSignal
}

async function awaitAnswer(
  { id, storeQuestion, signal }: AwaitedQuestion,
  { store, system }: OperatorQuestionDeps,
): Promise<string> {
  const { records } = store
  const unlisten = store.listen(topicOf(id), () => wake.abort())
  let wake = new AbortController()
  try {
    for (;;) {
      signal.throwIfAborted()
      const pending = await findQuestion(id, records)
      if (pending?.question.answer !== undefined) return pending.question.answer
      if (!pending) await storeQuestion()
      await system.sleep(pollMs, AbortSignal.any([wake.signal, signal]))
      if (wake.signal.aborted) wake = new AbortController()
    }
  } finally {
    unlisten()
    await records.remove(recordKeyOf(id))
  }
}

/** Returns an id that stays the same when the turn is retried, so that an answer in between counts. Nobody can guess it without the turn’s own id. */
function nameQuestion({ agent, member, text, correlationId }: OperatorQuestion): string {
  return hash('sha256', JSON.stringify([correlationId, agent, member, text])).slice(0, 16)
}

function topicOf(id: string): string {
  return `operator:${id}`
}

/** Mails a question to its operator. If that fails, the question is still in the list. */
async function mailQuestion(
  id: string,
  { agent, member, from, text, mail, signal, correlationId }: OperatorQuestion,
  { system, domain, openPublishers }: OperatorQuestionDeps,
): Promise<void> {
  const log = bindLog(system.log, { correlation_id: correlationId, agent })
  try {
    const acting = { agent, address: `@${agent}@${domain}` }
    const gateway = openPublishers()
    const via = gateway.channels.find(({ descriptor }) => descriptor.speaker.isMailbox)?.descriptor.name
    if (via === undefined) throw new Error('no channel sends mail')
    const publisher = createPublisher({ actingAgent: acting, gateway, signal, log })
    const questionText = `${from} asks ${member}:\n\n${text}\n\nPlease answer this mail soon, because somebody is waiting. (question ${id})`
    const options = { mentions: [`@${mail}`], subject: `${from} asks ${member}`, via }
    const postResult = await publisher.post([{ kind: 'text', mime: 'text/plain', content: questionText }], options)
    if (isActRefusal(postResult)) throw new Error(postResult.message)
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, 'a question could not be mailed to its operator')
  }
}
