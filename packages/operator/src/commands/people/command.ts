// Declares the commands that list linked addresses, forget a person and rewrite the database.
import { declareCommand, joinCommands } from '../declare.ts'

const addPeople = declareCommand({
  name: 'people',
  description: 'list the addresses that people have linked, and the messages that proved it',
  options: { '--agent <name>': 'only links with this agent' },
  hasJson: true,
  load: async () => (await import('./view.ts')).peopleViews.list,
})

const addForget = declareCommand({
  name: 'forget',
  arguments: '<address>',
  description: 'delete everything about a person: messages, answers, links, of all addresses linked with this one',
  options: {
    '--agent <name>': 'only from conversations with this agent; default: all agents',
    '--via <channel>': 'only by this channel, such as a2a; default: name@host as a mailbox, an account and a caller',
    '--leave-files': 'also delete records of files in a former storage, which you delete there yourself',
  },
  hasJson: true,
  load: async () => (await import('./view.ts')).peopleViews.forget,
})

const addVacuum = declareCommand({
  name: 'vacuum',
  description: 'rewrite the database, so that it holds no deleted data; the gateway does nothing else meanwhile',
  load: async () => (await import('./view.ts')).peopleViews.vacuum,
})

export const addPeopleCommands = joinCommands(addPeople, addForget, addVacuum)
