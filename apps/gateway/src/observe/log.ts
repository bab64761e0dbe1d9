// Writes the log as JSON lines, or as readable lines in dev mode.
import type { Log } from '@postern/message'
import { parseJsonText } from '@postern/message'
import { toTerminalLine } from '@postern/operator/terminal'
import { pino } from 'pino'
import { createLogOutput } from '../system/log-output.ts'
import { joinRepeatedLines, serializeLoggedError } from './log-causes.ts'

/** The file descriptor of standard output. */
const stdoutDescriptor = 1

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Fields that may carry a secret or somebody's text. The log never writes these fields, regardless of the caller. */
const redactedPaths = [
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

/** Creates a log that writes structured lines to standard output, or readable ones in dev mode. */
export function createLog({ level, readable }: { readonly level: LogLevel; readonly readable: boolean }): Log {
  const serializers = { err: serializeLoggedError }
  const options = { level, base: null, redact: { paths: redactedPaths, remove: true }, serializers }
  if (!readable) return joinRepeatedLines(pino(options, createLogOutput(stdoutDescriptor)))
  return joinRepeatedLines(pino(options, { write: line => void process.stdout.write(formatLogLine(line)) }))
}

const levelNames: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'ERROR' }

/** Formats one JSON line for a person: time, level, sentence and fields. */
export function formatLogLine(line: string): string {
  const { level, time, msg, err, ...fields } = parseJsonText(line) as Record<string, unknown>
  const timeOfDay = new Date(Number(time)).toISOString().slice(11, 23)
  const fieldTexts = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const failure = err && typeof err === 'object' ? [`(${(err as { message?: string }).message ?? 'error'})`] : []
  const sentence = [String(msg), ...failure, ...fieldTexts].join('  ')
  return `${timeOfDay} ${(levelNames[Number(level)] ?? String(level)).padEnd(5)} ${toTerminalLine(sentence)}\n`
}
