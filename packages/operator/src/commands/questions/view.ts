// Prints questions of agents to operators, and answers one.
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import { createListView, createOperationView } from '../operation-view.ts'
import { questionOperations } from './route.ts'

export const questionViews = {
  list: createListView(questionOperations.list, questions =>
    formatTable(
      ['id', 'agent', 'asked as', 'by', 'since', 'question'],
      questions.map(({ id, agent, member, from, asked_at, text }) => {
        return [id, agent, member, from, asked_at.slice(0, 19), text.slice(0, 80)]
      }),
    ),
  ),
  answer: createOperationView(questionOperations.answer, ({ id }) => `${toTerminalLine(id)}: answered`),
}
