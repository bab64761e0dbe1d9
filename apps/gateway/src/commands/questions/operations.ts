import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters, pageOf, pageParameters } from '../../api/page.ts'

const { agent, sender, since, until, text } = listFilters

export const askedQuestionSchema = z
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
