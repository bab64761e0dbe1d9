// Declares the commands that list messages, deliveries and refusals, and change deliveries.
import { declareCommand, declareGroup, joinCommands } from '../declare.ts'
import { parseLimit } from '../parse-limit.ts'
import { deliveryStates, messageStates } from './states.ts'

const limitOption = { defaultValue: 20, parse: parseLimit }

const periodOptions = {
  '--since <when>': 'not before: a time ago (30m, 12h, 7d) or an instant (ISO 8601)',
  '--until <when>': 'before: a time ago (30m, 12h, 7d) or an instant (ISO 8601)',
}

const addMessages = declareCommand({
  name: 'messages',
  description: 'list the messages that came in, newest first',
  options: {
    '--follow': 'then print each message that arrives or changes',
    '--agent <name>': 'only messages to this agent',
    '--channel <name>': 'only messages by this channel',
    '--state <state>': { description: 'only messages in this state', choices: messageStates },
    '--sender <text>': 'only messages of senders whose address contains this',
    '--flag <flag>': 'only messages with this flag',
    ...periodOptions,
    '--text <words>': 'only messages whose text contains this',
    '--limit <n>': { description: 'number of messages, at most 500', ...limitOption },
  },
  hasJson: true,
  load: async () => (await import('./view.ts')).printMessages,
})

const addShow = declareCommand({
  name: 'show',
  arguments: '<id>',
  description: 'show one message: proofs, the text that the agent got, its answer, every step with its time',
  hasJson: true,
  load: async () => (await import('./view.ts')).printMessage,
})

const addDeliveries = declareGroup({
  name: 'deliveries',
  description: 'deliveries of answers: list, show, retry, drop, dismiss',
  load: async () => (await import('./view.ts')).deliveryViews,
  commands: {
    list: {
      description: 'list the deliveries with their last attempt, newest first (default)',
      options: { '--state <state>': { description: 'only deliveries in this state', choices: deliveryStates } },
      hasJson: true,
      isDefault: true,
    },
    show: {
      arguments: '<id>',
      description: 'show one delivery: each attempt with its time and the answer to it',
      hasJson: true,
    },
    retry: { arguments: '<id>', description: 'try a delivery again now' },
    drop: { arguments: '<id>', description: 'give a delivery up' },
    dismiss: { arguments: '<id>', description: 'take a dead letter out of the count' },
  },
})

const addRefusals = declareCommand({
  name: 'refusals',
  description: 'list messages and requests that the gateway refused, with sender, reason and fix',
  options: {
    '--agent <name>': 'only refusals for this agent',
    '--channel <name>': 'only refusals by this channel; gateway: failures of pages, discovery, files and the API',
    '--code <code>': 'only refusals with this code, such as unsigned, forbidden or unavailable',
    '--sender <text>': 'only refusals whose claimed sender or network address contains this',
    ...periodOptions,
    '--text <words>': 'only refusals whose reason contains this',
    '--limit <n>': { description: 'number of refusals, at most 500', ...limitOption },
  },
  hasJson: true,
  load: async () => (await import('./view.ts')).printRefusals,
})

export const addMessageCommands = joinCommands(addMessages, addShow, addDeliveries, addRefusals)
