// Starts the chat room from the command line.
import type { Log, LogFields } from '@postern/message'
import { ConfigError } from '@postern/message'
import { readFlags } from './config.ts'
import { openConnector } from './connector.ts'

/** Creates a log with one line for each event; of errors it prints the message only. */
function createLineLog(print: (line: string) => void): Log {
  const writeLine = (level: string) => (fields: LogFields, text: string) => {
    const { err, ...otherFields } = fields
    const causeText = err instanceof Error ? ` (${err.message})` : ''
    print(`${level} ${text}${causeText} ${JSON.stringify(otherFields)}`)
  }
  return { debug: () => undefined, info: writeLine('info'), warn: writeLine('warn'), error: writeLine('ERROR') }
}

const print = (text: string) => process.stdout.write(`${text}\n`)

try {
  const config = readFlags(process.argv.slice(2), process.env)
  const log = createLineLog(print)
  const connector = await openConnector(config, { log })
  const port = await connector.listen()
  print(`${config.name} is at http://${config.host}:${port}, and speaks for ${config.origin}`)
  process.on('SIGHUP', () => {
    void connector.rotateKeys().then(kid => print(`a new key, ${kid}, signs from the next minute on`))
  })
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => void connector.close().then(() => process.exit(0)))
  }
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
