// Prints the followers of an agent, and accepts or rejects follow requests.
import { isoTime } from '@postern/message'
import type { Relation } from '@postern/pipeline'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { PrintAnswer } from '../operation-view.ts'
import { createListView, createOperationView } from '../operation-view.ts'
import { followerOperations } from './route.ts'

export const followerViews = {
  list: createListView(followerOperations.list, formatRelations, ({ agent, pending }) => ({
    agent,
    relation: pending === true ? 'pending' : 'follower',
  })),
  accept: createDecisionView('accept'),
  reject: createDecisionView('reject'),
}

function formatRelations(relations: readonly Relation[]): string {
  return formatTable(
    ['since', 'who'],
    relations.map(({ since, peer }) => [isoTime(since).slice(0, 19), peer]),
  )
}

function createDecisionView(verdict: 'accept' | 'reject'): PrintAnswer {
  return createOperationView(
    followerOperations.decide,
    (_, { actor }) => `${toTerminalLine(String(actor))}: ${verdict}ed`,
    {
      read: ({ agent, actor }) => ({ verdict, agent, peer: actor }),
    },
  )
}
