import { containsText, filterPage, isWithin } from '../../api/filter-page.ts'
import type { OperationRequest, OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import type { AskedQuestion } from './operations.ts'
import { questionOperations } from './operations.ts'
import type { OperatorQuestionStore } from './questions.ts'
import { refuseUnknownQuestion } from './questions.ts'

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
      if (!(await operators.answer(id, text))) refuseUnknownQuestion()
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
