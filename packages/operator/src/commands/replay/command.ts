// Declares the command `replay`.
import { declareCommand } from '../declare.ts'

export const addReplayCommand = declareCommand({
  name: 'replay',
  arguments: {
    usage: '[id]',
    description: 'number or id of one message; without it, the range that the options name',
  },
  description: 'run stored messages through today’s code and show the differences; sends nothing without --commit',
  options: {
    '--agent <file>': 'a module of the project that answers in place of the agent, such as ./agents/new.ts',
    '--now': 'use the present time and fetch keys again; default: the recorded time and keys, without a fetch',
    '--call': 'also call remote agents (webhooks, models) and other agents, which then see the message again',
    '--commit': 'for one message: queue the new answer in place of the old one',
    '--again': 'with --commit: send a further mail or post where the recorded answer has failed',
    '--since <when>': 'a time ago (30m, 12h, 7d) or an instant (ISO 8601)',
    '--until <when>': 'end of the range, in the same form',
    '--channel <channel>': 'only messages by this channel',
    '--to <agent>': 'only messages to this agent',
    '--limit <n>': { description: 'number of messages at most', defaultValue: '1000' },
    '--json': 'print JSON, for programs: one message a line',
  },
  load: async () => (await import('./view.ts')).runReplay,
})
