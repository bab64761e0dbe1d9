import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'
import { printList } from '../print-list.ts'
import type { AskedQuestion } from './route.ts'
import { questionOperations } from './route.ts'

/** Who waits for a human's answer. */
export function printQuestions(openClient: ClientOpener, output: Output): Promise<void> {
  return printList(openClient, output, {
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

export async function answerListedQuestion(
  openClient: ClientOpener,
  output: Output,
  { id, text }: { readonly id: string; readonly text: string },
): Promise<void> {
  const client = await openClient()
  try {
    await client.call(questionOperations.answer, { parameters: { id }, body: { text } })
    output.print(`${toTerminalLine(id)}: answered`)
  } finally {
    await client.close()
  }
}
