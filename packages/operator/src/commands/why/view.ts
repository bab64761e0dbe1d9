// Prints the outcome of a message, refusal or delivery, with the reason, the evidence and the fix.
import { toTerminalLine } from '../../terminal/text.ts'
import type { Explanation, WhyAnswer } from '../../why/explanation.ts'
import { createOperationView } from '../operation-view.ts'
import { whyOperation } from './route.ts'

/** Prints the explanation. The exit code is 1 if nothing is known. */
export const printWhy = createOperationView(whyOperation, formatWhy, {
  onAnswer({ found }) {
    if (found === 'nothing') process.exitCode = 1
  },
})

/** Formats each explanation of an address in two lines. Otherwise formats the first one in full, and further ones on a line each. */
function formatWhy({ asked, found, explanations }: WhyAnswer): string {
  if (found === 'address') return explanations.map(formatShort).join('\n')
  const [first, ...furtherExplanations] = explanations
  const hint = found === 'delivery' ? [`${asked.trim()} is the number of a delivery of this message:`] : []
  const furtherLines = furtherExplanations.map(
    explanation => `also ${nameSubject(explanation)}: ${explanation.sentence}`,
  )
  return [...hint, ...(first ? formatFull(first) : []), ...furtherLines].map(toTerminalLine).join('\n')
}

function formatShort(explanation: Explanation): string {
  return [nameSubject(explanation), `  ${explanation.sentence}`].map(toTerminalLine).join('\n')
}

function formatFull(explanation: Explanation): readonly string[] {
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
  const subject = kind === 'message' ? `#${message}` : 'refused'
  const route = [sender ?? 'somebody', agent ? `to ${agent}` : ''].filter(Boolean).join(' ')
  return `${subject} ${via ?? ''} from ${route}${id ? `, ${id}` : ''}`
}
