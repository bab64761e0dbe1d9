import { formatTable } from '../../terminal/table.ts'
import { toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'
import type { AskedQuestion } from './questions.ts'

/** Who waits for a human's answer. */
export async function printQuestions(openClient: ClientOpener, output: Output): Promise<void> {
  const client = await openClient()
  try {
    const listed = (await client.request('/operator/api/questions')) as { questions: readonly AskedQuestion[] }
    output.print(output.json ? JSON.stringify(listed, null, 2) : formatQuestions(listed.questions))
  } finally {
    await client.close()
  }
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
    await client.request(`/operator/api/questions/${encodeURIComponent(id)}`, { method: 'POST', body: { text } })
    output.print(`${toTerminalLine(id)}: answered`)
  } finally {
    await client.close()
  }
}
