// Declares the commands `export` and `import`.
import { exchangeFormats } from '@postern/transcript'
import { declareCommand, joinCommands } from '../declare.ts'
import { tableFormats } from './table-formats.ts'

/** Returns the options that name a conversation and a format. */
function describeThreadOptions({ isMandatory }: { readonly isMandatory: boolean }) {
  const format = { description: 'format of the messages', choices: exchangeFormats, isMandatory }
  const description =
    'conversation: id or #number of one of its messages; with --owner the thread’s name, such as web:["desk","thread-1"]'
  return {
    '--format <format>': format,
    '--thread <thread>': { description, isMandatory },
    '--owner <owner>': 'owner of a conversation of the chat or a store: web:["<issuer>","<subject>"]',
  }
}

const addExport = declareCommand({
  name: 'export',
  description: 'print a conversation in one of the formats of the transcript, or the list of messages',
  options: {
    ...describeThreadOptions({ isMandatory: false }),
    '--messages <format>': { description: 'the list of messages instead', choices: tableFormats },
    '--since <when>': 'with --messages: not before: a time ago (30m, 12h, 7d) or an instant (ISO 8601)',
    '--until <when>': 'with --messages: before this time, in the same form',
    '--agent <name>': 'with --messages: only messages to this agent',
    '--channel <name>': 'with --messages: only messages by this channel',
  },
  load: async () => (await import('./view.ts')).runExport,
})

const addImport = declareCommand({
  name: 'import',
  arguments: '<path>',
  description: 'add messages to a conversation, from a file or from standard input (-)',
  options: describeThreadOptions({ isMandatory: true }),
  hasJson: true,
  load: async () => (await import('./view.ts')).importTranscript,
})

export const addTranscriptCommands = joinCommands(addExport, addImport)
