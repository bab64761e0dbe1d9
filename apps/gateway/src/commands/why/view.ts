import { toTerminalLine } from '../../terminal/text.ts'
import type { Explanation, WhyAnswer } from '../../why/explanation.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { whyOperation } from './route.ts'

/** Ends with 1 when nothing is known. */
export async function printWhy(output: ApiOutput, id: string): Promise<void> {
  await printAnswer(output, whyOperation, { parameters: { id } }, formatWhy, ({ found }) => {
    if (found === 'nothing') process.exitCode = 1
  })
}

/** Of an address each in two lines; otherwise the first one whole, and a word on further ones. */
function formatWhy({ asked, found, explanations }: WhyAnswer): string {
  if (found === 'address') return explanations.map(formatShort).join('\n')
  const [first, ...others] = explanations
  const hint = found === 'delivery' ? [`${asked.trim()} is the number of a delivery of this message:`] : []
  const more = others.map(other => `also ${nameSubject(other)}: ${other.sentence}`)
  return [...hint, ...(first ? formatWhole(first) : []), ...more].map(toTerminalLine).join('\n')
}

function formatShort(explanation: Explanation): string {
  return [nameSubject(explanation), `  ${explanation.sentence}`].map(toTerminalLine).join('\n')
}

function formatWhole(explanation: Explanation): readonly string[] {
  const { sentence, evidence, fix, kind } = explanation
  return [
    ...(kind === 'nothing' ? [] : [nameSubject(explanation)]),
    `${sentence}.`,
    '',
    ...evidence.map(({ at, fact }) => `  ${(at ?? '').padEnd(24)}  ${fact}`),
    ...(fix ? ['', `fix: ${fix.text}`, ...(fix.command ? [`     ${fix.command}`] : [])] : []),
  ]
}

function nameSubject({ kind, message, via, sender, agent, id }: Explanation): string {
  const what = kind === 'message' ? `#${message}` : 'refused'
  const route = [sender ?? 'somebody', agent ? `to ${agent}` : ''].filter(Boolean).join(' ')
  return `${what} ${via ?? ''} from ${route}${id ? `, ${id}` : ''}`
}
