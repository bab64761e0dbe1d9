import { CopilotChat, CopilotKitProvider } from '@copilotkit/react-core/v2'
import '@copilotkit/react-core/v2/styles.css'
import { createRoot } from 'react-dom/client'
import { openAgents } from './agents.ts'

const { VITE_GATEWAY: url = 'http://127.0.0.1:8787', VITE_TOKEN: token = '' } = import.meta.env
const agents = openAgents({ url, token }, ['help'])

createRoot(document.body.appendChild(document.createElement('div'))).render(
  <CopilotKitProvider selfManagedAgents={agents}>
    <CopilotChat agentId="help" />
  </CopilotKitProvider>,
)
