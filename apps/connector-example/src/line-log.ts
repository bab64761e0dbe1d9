import type { Log, LogFields } from '@postern/core'

/** One line for each thing worth knowing; of errors their words only. */
export function createLineLog(print: (line: string) => void): Log {
  const write = (level: string) => (fields: LogFields, text: string) => {
    const { err, ...others } = fields
    const problem = err instanceof Error ? ` (${err.message})` : ''
    print(`${level} ${text}${problem} ${JSON.stringify(others)}`)
  }
  return { debug: () => undefined, info: write('info'), warn: write('warn'), error: write('ERROR') }
}
