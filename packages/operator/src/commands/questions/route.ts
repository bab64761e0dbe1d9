// Lists questions of agents to operators, and answers them, in the operator's API.
import { z } from 'zod'
import type { OperationRequest, OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import {
  containsText,
  filterPage,
  isWithin,
  listFilters,
  pageOf,
  pageParameters,
  unknownNameRefusal,
} from '../../api/page.ts'
import type { AskedQuestion, OperatorQuestionStore } from './operator-questions.ts'
import { askedQuestionSchema } from './operator-questions.ts'

const { agent, sender, since, until, text } = listFilters

const listedQuestionSchema = askedQuestionSchema.extend({ number: z.int().describe('Number of the question.') })

export const questionOperations = {
  list: defineOperation({
    id: 'listQuestions',
    method: 'GET',
    path: '/questions',
    summary: 'Lists what agents ask of a human, newest first.',
    task: 'list questions',
    query: z.object({ agent, sender, since, until, text, ...pageParameters }),
    answer: pageOf(listedQuestionSchema.meta({ id: 'ListedQuestion' })),
    refusals: unknownNameRefusal,
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

export function createQuestionRoutes(operators: OperatorQuestionStore): readonly OperatorRoute[] {
  return [
    handleOperation(questionOperations.list, ({ query }) =>
      filterPage(
        query,
        page => operators.listPage(page),
        ({ number, question }) => (question && matchesFilter(question, query) ? { ...question, number } : undefined),
      ),
    ),
    handleOperation(questionOperations.answer, async ({ parameters: { id }, body: { text } }) => {
      requireFound(await operators.answer(id, text), 'Cannot answer: nobody waits for an answer to this question')
      return { id, answered: true as const }
    }),
  ]
}

type QuestionFilter = OperationRequest<typeof questionOperations.list>['query']

function matchesFilter({ agent, from, asked_at, text }: AskedQuestion, filter: QuestionFilter): boolean {
  return (
    (filter.agent === undefined || agent === filter.agent) &&
    containsText(from, filter.sender) &&
    containsText(text, filter.text) &&
    isWithin(Date.parse(asked_at), filter)
  )
}
