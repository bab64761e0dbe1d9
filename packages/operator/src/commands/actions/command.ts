// Declares the commands that let an agent post, edit and delete.
import { visibilities } from '@postern/message'
import { declareCommand, joinCommands } from '../declare.ts'

const addPost = declareCommand({
  name: 'post',
  arguments: '<agent> <text>',
  description: 'let an agent post to its followers; prints the id of the post',
  options: {
    '--visibility <who>': { description: 'who may read it', choices: visibilities, defaultValue: 'public' },
    '--subject <text>': 'a content warning',
    '--mention <address...>': 'recipients, as @name@domain',
  },
  hasJson: true,
  load: async () => (await import('./view.ts')).actionViews.post,
})

const addEdit = declareCommand({
  name: 'edit',
  arguments: '<agent> <id> <text>',
  description: 'change the text of a post or an answer of an agent',
  load: async () => (await import('./view.ts')).actionViews.edit,
})

const addDeletePost = declareCommand({
  name: 'delete-post',
  arguments: '<agent> <id>',
  description: 'delete a post or an answer of an agent',
  load: async () => (await import('./view.ts')).actionViews.delete,
})

export const addActionCommands = joinCommands(addPost, addEdit, addDeletePost)
