// Defines the bench case for an A2A stream of three pieces.
import { rows } from '../aims/rows.ts'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { pieces } from '../orders/stream.ts'
import { describeBenchGateway } from '../ours/open.ts'
import { isCompleted } from './is-completed.ts'
import { openAgentIssuer } from './issuer.ts'
import { createCallMaker } from './make-calls.ts'

/** Opens the case of `SendStreamingMessage`: a task, an answer in three chunks, the end. */
export async function openStreamCase(): Promise<BenchCase> {
  const issuer = await openAgentIssuer()
  return {
    name: 'stream',
    title: 'A2A stream of three',
    connections: 64,
    contenders,
    prepare: createCallMaker(issuer, 'SendStreamingMessage', () => '/agents/pieces/a2a'),
    isExpected: answer => isCompleted(answer) && readTexts(answer.body).includes(pieces.join('')),
    close: issuer.close,
  }
}

/** Reads all text of a stream, because a busy server may join two chunks. */
function readTexts(body: Buffer): string {
  return [...body.toString().matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text).join('')
}

/** Both contenders answer with the same text. */
const contenders: readonly Contender[] = [
  {
    name: 'Postern, anonymous',
    note: 'no authentication, like its peer here; the message is durable before the turn, the answer before the end',
    ...describeBenchGateway({ a2a: { auth: { anonymous: true } } }),
    requiredFiles: [new URL('../ours/agents/pieces.ts', import.meta.url)],
  },
  {
    name: 'SDK 1.3.0 on Express',
    note: 'no authentication, tasks in memory; a task, an artifact in three pieces, 5 ms between them, the end',
    entry: new URL('./sdk.ts', import.meta.url),
    setup: { answer: 'pieces' },
    ...rows.stream,
  },
]
