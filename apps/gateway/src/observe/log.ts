import type { Log } from '@postern/core'
import { parseJsonText } from '@postern/core'
import { pino } from 'pino'
import { createLogOutput } from '../platform/platform.ts'
import { toTerminalLine } from '../terminal/text.ts'

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Fields that may carry a secret or somebody's words: never written, whoever passes them. */
const redacted = [
  'authorization',
  'token',
  'secret',
  'password',
  'body',
  'raw',
  'headers.authorization',
  '*.token',
  '*.secret',
  '*.password',
]

/** Structured lines on standard output; in dev mode the same, readable. */
export function createLog({ level, readable }: { readonly level: LogLevel; readonly readable: boolean }): Log {
  const options = { level, base: null, redact: { paths: redacted, remove: true } }
  if (!readable) return pino(options, createLogOutput(1))
  return pino(options, { write: line => void process.stdout.write(formatLogLine(line)) })
}

const levelNames: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'ERROR' }

/** One JSON line as a person reads it: time, level, sentence, fields. */
export function formatLogLine(line: string): string {
  const { level, time, msg, err, ...fields } = parseJsonText(line) as Record<string, unknown>
  const clock = new Date(Number(time)).toISOString().slice(11, 23)
  const pairs = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const failure = err && typeof err === 'object' ? [`(${(err as { message?: string }).message ?? 'error'})`] : []
  const sentence = [String(msg), ...failure, ...pairs].join('  ')
  return `${clock} ${(levelNames[Number(level)] ?? String(level)).padEnd(5)} ${toTerminalLine(sentence)}\n`
}
