// Declares the commands that list followers and decide follow requests.
import { declareGroup } from '../declare.ts'

export const addFollowerCommands = declareGroup({
  name: 'followers',
  description: 'followers and follow requests of an agent: list, accept, reject',
  load: async () => (await import('./view.ts')).followerViews,
  commands: {
    list: {
      arguments: '<agent>',
      description: 'list the followers of an agent (default)',
      options: { '--pending': 'list the follow requests that wait' },
      hasJson: true,
      isDefault: true,
    },
    accept: { arguments: '<agent> <actor>', description: 'accept the follow request of an actor' },
    reject: { arguments: '<agent> <actor>', description: 'reject the follow request of an actor' },
  },
})
