import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer, printList } from '../print-list.ts'
import type { AskedQuestion } from './route.ts'
import { questionOperations } from './route.ts'

/** Who waits for a human's answer. */
export function printQuestions(output: ApiOutput): Promise<void> {
  return printList(output, {
    readPage: (client, query) => client.call(questionOperations.list, { query }),
    format: formatQuestions,
  })
}

function formatQuestions(questions: readonly AskedQuestion[]): string {
  return formatTable(
    ['id', 'agent', 'asked as', 'by', 'since', 'question'],
    questions.map(({ id, agent, member, from, asked_at, text }) => {
      return [id, agent, member, from, asked_at.slice(0, 19), text.slice(0, 80)]
    }),
  )
}

export function answerListedQuestion(
  output: ApiOutput,
  { id, text }: { readonly id: string; readonly text: string },
): Promise<void> {
  const input = { parameters: { id }, body: { text } }
  return printAnswer(output, questionOperations.answer, input, () => `${toTerminalLine(id)}: answered`)
}
