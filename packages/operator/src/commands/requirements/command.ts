// Declares the commands that list and decide requirements of agents.
import { rememberScopes } from '@postern/message'
import { declareGroup } from '../declare.ts'
import { requirementStates } from './requirement-states.ts'

const remember = {
  description: 'let the decision count for later calls of the tool by the same sender',
  choices: rememberScopes,
}

export const addRequirementCommands = declareGroup({
  name: 'requirements',
  description: 'consent, payments and identities that agents wait for: list, show, grant, decline, rerun',
  load: async () => (await import('./view.ts')).requirementViews,
  commands: {
    list: {
      description: 'list the requirements, newest first (default)',
      options: {
        '--state <state>': { description: 'only requirements in this state', choices: requirementStates },
        '--agent <name>': 'only requirements of this agent',
        '--mine': 'only requirements that you decide',
      },
      hasJson: true,
      isDefault: true,
    },
    show: {
      arguments: '<id>',
      description: 'show one requirement, with the arguments of its call',
      hasJson: true,
    },
    grant: {
      arguments: '<id>',
      description: 'grant a requirement: allow a call, or confirm a payment or an identity',
      options: {
        '--arguments <json>': 'run the call with these arguments instead',
        '--remember <reach>': remember,
      },
    },
    rerun: {
      arguments: '<id>',
      description: 'run the failed turn of a decision again; tools that have run do not run again',
      hasJson: true,
    },
    decline: {
      arguments: '<id>',
      description: 'decline a requirement, yours or the sender\u2019s',
      options: { '--remember <reach>': remember },
    },
  },
})
