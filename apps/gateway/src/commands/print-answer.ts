import type { ClientOpener } from './client.ts'
import type { Output } from './context.ts'

/** Asks the operator API one thing and prints it, for people or as JSON. */
export async function printAnswer<Answer>(
  openClient: ClientOpener,
  output: Output,
  path: string,
  format: (answer: Answer) => string,
): Promise<void> {
  const client = await openClient()
  try {
    const answer = (await client.request(path)) as Answer
    output.print(output.json ? JSON.stringify(answer, null, 2) : format(answer))
  } finally {
    await client.close()
  }
}
